#include "base/python_random.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/check.h"

namespace ghost {

// init_by_array of the generator's reference description, with the seed's 32-bit words as the key.
PythonRandom::PythonRandom(uint64_t seed) {
  std::vector<uint32_t> key = {static_cast<uint32_t>(seed)};
  if (seed >> 32) key.push_back(static_cast<uint32_t>(seed >> 32));
  state_[0] = 19650218u;
  for (uint32_t i = 1; i < kSize; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  uint32_t i = 1, j = 0;
  const auto advance = [&] {
    if (++i == kSize) {
      state_[0] = state_[kSize - 1];
      i = 1;
    }
  };
  for (int k = kSize; k > 0; --k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525u)) + key[j] + j;
    j = (j + 1) % static_cast<uint32_t>(key.size());
    advance();
  }
  for (int k = kSize - 1; k > 0; --k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941u)) - i;
    advance();
  }
  state_[0] = 0x80000000u;
}

void PythonRandom::Refill() {
  constexpr int kMiddle = 397;
  for (int k = 0; k < kSize; ++k) {
    const uint32_t y = (state_[static_cast<size_t>(k)] & 0x80000000u) |
                       (state_[static_cast<size_t>((k + 1) % kSize)] & 0x7fffffffu);
    const uint32_t twist = (y & 1u) ? 0x9908b0dfu : 0u;
    state_[static_cast<size_t>(k)] = state_[static_cast<size_t>((k + kMiddle) % kSize)] ^ (y >> 1) ^ twist;
  }
  next_ = 0;
}

uint32_t PythonRandom::Bits32() {
  if (next_ == kSize) Refill();
  uint32_t y = state_[static_cast<size_t>(next_++)];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

int64_t PythonRandom::RandInt(int64_t low, int64_t high) {
  const auto n = static_cast<uint64_t>(high - low) + 1;
  const int bits = static_cast<int>(std::bit_width(n));
  GHOST_CHECK(high >= low && bits <= 32);
  uint32_t draw;
  do draw = Bits32() >> (32 - bits);
  while (draw >= n);
  return low + draw;
}

}  // namespace ghost
