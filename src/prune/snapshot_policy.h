// When a snapshot of the residual stream is worth its cost. Without one a resumed run repeats the finished
// layers, which costs about half of what they cost first.
#pragma once

#include <cstdint>

namespace ghost {

struct SnapshotFacts {
  int64_t bytes = 0;              // of a snapshot
  int64_t max_bytes = 0;          // larger ones are never written
  double seconds_since_last = 0;  // since the last one, or since the start
  double seconds_of_last = -1;    // what writing the last one took; negative: there was none
};

// Before the first one, a disk that is neither fast nor slow.
inline constexpr double kGuessedBytesPerSecond = 200e6;
// A snapshot may cost this share of the time between two of them: 2.5 %.
inline constexpr double kSnapshotInterval = 40;

inline bool SnapshotIsDue(const SnapshotFacts& facts) {
  if (facts.bytes <= 0 || facts.bytes > facts.max_bytes) return false;
  const double cost = facts.seconds_of_last >= 0 ? facts.seconds_of_last
                                                 : static_cast<double>(facts.bytes) / kGuessedBytesPerSecond;
  return facts.seconds_since_last >= kSnapshotInterval * cost;
}

}  // namespace ghost
