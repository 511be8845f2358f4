// Processes that share one run, each with its own part of the data: who this one is, and bytes between them.
// Without a launcher there is one process, a team of itself; asking it costs nothing. What is built on top:
// sums in a fixed order (ordered_sums.h), and below, how pieces of work are shared and small results joined.
//
// Calls that say "all together" must be made by every process of a team, in the same order; a process that
// cannot go on throws, and main ends the whole team (cluster/join_team.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ghost {

// One thread of a process uses its team at a time.
class Team {
 public:
  virtual ~Team() = default;

  virtual int rank() const = 0;  // 0 .. size() - 1
  virtual int size() const = 0;
  virtual std::string host() const = 0;
  // Cores that this process may use when its neighbours on the same machine use theirs; 0: all.
  virtual int cores() const = 0;

  // Messages between two processes arrive in the order in which they were sent; both must agree on the size.
  virtual void Send(int to, std::span<const std::byte> bytes) = 0;
  virtual void Receive(int from, std::span<std::byte> bytes) = 0;
  // All together: every process gets what the leader has. All must agree on the size.
  virtual void Broadcast(std::span<std::byte> bytes) = 0;

  // The process that writes, prints and shows progress.
  bool leads() const { return rank() == 0; }
};

// The team of the calling thread: a process of its own unless SetTeam has been called. Threads of ParallelFor
// have none and must not ask.
Team& CurrentTeam();
// `team` must live until the next call; null: alone. Each thread has its own, so that tests can play a team.
void SetTeam(Team* team);

// Pieces [begin, end) of some numbered ones.
struct PieceRange {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};
// What this process takes of `pieces`: ranges follow each other in the order of ranks and differ in size by
// one at most. Some are empty when there are fewer pieces than processes.
PieceRange ShareOf(int64_t pieces);

// All together: returns when everyone has called it.
void WaitForTeam();

// All together: the leader's text, whatever the others have.
std::string LeadersText(std::string text);

// All together: the texts of all processes in the order of their ranks, on every process.
std::vector<std::string> AllTexts(std::string_view mine);

// All together: Error(kUsage) on every process whose text is not the leader's, e.g. because a file is another
// one on its machine. `what` says what the text describes.
void RequireSame(std::string_view what, const std::string& text);

// All together: elements [begin, end) of `whole` are this process'; afterwards every process has the parts of
// all of them. Parts that nobody has stay as they are.
void JoinParts(std::span<float> whole, size_t begin, size_t end);

// All together: the values of all processes, one behind the other in the order of their ranks.
template <class Value>
std::vector<Value> AllValues(std::span<const Value> mine) {
  static_assert(std::is_trivially_copyable_v<Value>);
  if (CurrentTeam().size() == 1) return {mine.begin(), mine.end()};
  std::vector<Value> all;
  for (const std::string& text : AllTexts({reinterpret_cast<const char*>(mine.data()), mine.size_bytes()})) {
    const size_t begin = all.size();
    all.resize(begin + text.size() / sizeof(Value));
    if (!text.empty()) std::memcpy(static_cast<void*>(all.data() + begin), text.data(), text.size());
  }
  return all;
}

}  // namespace ghost
