// Python's random.Random, bit for bit, for the functions that pruning scripts call: MT19937
// with an integer seed.
#pragma once

#include <array>
#include <cstdint>

namespace ghost {

class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed);

  uint32_t Bits32();
  // random.randint(low, high), both ends included; high >= low.
  int64_t RandInt(int64_t low, int64_t high);

 private:
  static constexpr int kSize = 624;
  void Refill();

  std::array<uint32_t, kSize> state_{};
  int next_ = kSize;
};

}  // namespace ghost
