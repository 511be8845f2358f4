// One head of a stored state: where it is, and how its elements are rounded.
//
// A state of a small type is rounded to nearest (bf16, f16) or at random (int8): a value between two
// neighbours becomes the upper one with a probability that makes the mean right, so that many small updates
// add up. The random numbers are a hash of the sequence's position, the mixer, the head and the element, and
// of nothing else: neither threads nor the rest of the batch change a bit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/scan/state_type.h"

namespace ghost {

struct StoredHead {
  StateType type = StateType::kF32;
  int N = 0, P = 0;
  std::byte* values = nullptr;  // (N, P)
  float* scales = nullptr;      // (N), of int8 only: what its integers -127 to 127 are multiplied by
};

// The head behind `before` channels of other heads, in a state of `channels` channels. All zeros is the empty
// state in every type. The scales of all heads come first.
StoredHead ViewHead(StateType type, void* state, int64_t channels, int64_t before, int N, int P);

// Which random numbers: one pair of seeds per token, mixer and head.
struct RoundingSeeds {
  uint32_t channel = 0, element = 0;
};

inline RoundingSeeds MakeRoundingSeeds(int64_t position, int mixer, int head) {
  // The finalizer of SplitMix64, after each of the numbers.
  const auto mix = [](uint64_t v) {
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
  };
  const uint64_t place = (static_cast<uint64_t>(mixer) << 32) + static_cast<uint64_t>(head);
  const uint64_t bits = mix(mix(static_cast<uint64_t>(position) + 0x9e3779b97f4a7c15u) + place);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

// The finalizer of MurmurHash3 on a counter; 16 bits.
inline uint16_t RandomWord(uint32_t seed, uint32_t i) {
  uint32_t v = seed + i * 0x9e3779b9u;
  v = (v ^ (v >> 16)) * 0x85ebca6bu;
  v = (v ^ (v >> 13)) * 0xc2b2ae35u;
  return static_cast<uint16_t>((v ^ (v >> 16)) >> 16);
}

// Of element p of channel n, uniform in [0, 256): the high byte of the sum of a number per channel and one
// per element. Any two elements of a head are independent, at the price of one addition for each.
inline uint8_t RoundingNoise(uint16_t channel_word, uint16_t element_word) {
  return static_cast<uint8_t>(static_cast<uint16_t>(channel_word + element_word) >> 8);
}

// 127 / largest, 0 for a channel that is too small to be stored. `largest` is not negative, or is NaN, and
// then so is the result.
inline constexpr float kLeastInt8 = 0x1.0p-110f;
inline float Int8Factor(float largest) { return largest < kLeastInt8 ? 0.0f : 127.0f / largest; }
inline float Int8Scale(float largest) { return largest < kLeastInt8 ? 0.0f : largest * (1.0f / 127.0f); }

// The floor of value * factor + noise / 256. Noise has as many bits as the product keeps below the point.
int8_t RoundInt8(float value, float factor, uint8_t noise);
uint16_t SaturatedF16FromF32(float value);  // to nearest; beyond 65504: 65504; NaN stays NaN

// All heads of a state as float32, (channels, P).
void WidenState(StateType type, const void* state, int64_t channels, int P, float* values);

// The scalar specification of stored_head_simd.h: (N, P) float32 values of a head, and rounding them into
// one.
void WidenHeadRef(const StoredHead& head, float* values);
void NarrowHeadRef(const float* values, RoundingSeeds seeds, const StoredHead& head);

}  // namespace ghost
