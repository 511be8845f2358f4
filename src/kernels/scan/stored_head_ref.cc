#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/scan/stored_head.h"
#include "tensor/dtype.h"

namespace ghost {
namespace {

float LargestMagnitude(const float* row, int P) {
  float largest = 0;
  for (int p = 0; p < P; ++p) {
    if (std::isnan(row[p])) return row[p];
    largest = std::max(largest, std::fabs(row[p]));
  }
  return largest;
}

uint16_t Load16(const std::byte* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return bits;
}

}  // namespace

int8_t RoundInt8(float value, float factor, uint8_t noise) {
  const float fixed = std::nearbyint(value * factor * 256.0f);
  if (!(std::fabs(fixed) <= 127.0f * 256.0f)) return 0;  // not a number: the scale says so
  return static_cast<int8_t>((static_cast<int>(fixed) + noise) >> 8);
}

uint16_t SaturatedF16FromF32(float value) {
  return F16FromF32(std::isnan(value) ? value : std::clamp(value, -65504.0f, 65504.0f));
}

void WidenHeadRef(const StoredHead& head, float* values) {
  const int P = head.P;
  for (int i = 0; i < head.N * P; ++i) {
    switch (head.type) {
      case StateType::kF32:
        std::memcpy(values + i, head.values + 4 * i, sizeof(float));
        break;
      case StateType::kBF16:
        values[i] = F32FromBF16(Load16(head.values + 2 * i));
        break;
      case StateType::kF16:
        values[i] = F32FromF16(Load16(head.values + 2 * i));
        break;
      case StateType::kInt8:
        values[i] = head.scales[i / P] * static_cast<float>(static_cast<int8_t>(head.values[i]));
        break;
    }
  }
}

void NarrowHeadRef(const float* values, RoundingSeeds seeds, const StoredHead& head) {
  const int P = head.P;
  for (int n = 0; n < head.N; ++n) {
    const float largest = LargestMagnitude(values + n * P, P);
    const uint16_t channel_word = RandomWord(seeds.channel, static_cast<uint32_t>(n));
    if (head.type == StateType::kInt8) head.scales[n] = Int8Scale(largest);
    for (int p = 0; p < P; ++p) {
      const int i = n * P + p;
      if (head.type == StateType::kInt8) {
        const uint8_t noise =
            RoundingNoise(channel_word, RandomWord(seeds.element, static_cast<uint32_t>(p)));
        head.values[i] = static_cast<std::byte>(RoundInt8(values[i], Int8Factor(largest), noise));
      } else if (head.type == StateType::kF32) {
        std::memcpy(head.values + 4 * i, values + i, sizeof(float));
      } else {
        const uint16_t bits =
            head.type == StateType::kBF16 ? BF16FromF32(values[i]) : SaturatedF16FromF32(values[i]);
        std::memcpy(head.values + 2 * i, &bits, sizeof(bits));
      }
    }
  }
}

}  // namespace ghost
