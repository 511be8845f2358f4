#include "tensor/dtype.h"

#include <array>
#include <cmath>

#include "base/check.h"

namespace ghost {
namespace {

constexpr std::array<DTypeInfo, 26> kInfos = {{
    {DType::kF32, "F32", 1, 4},
    {DType::kF16, "F16", 1, 2},
    {DType::kBF16, "BF16", 1, 2},
    {DType::kQ8_0, "Q8_0", 32, 34},
    {DType::kQ4_0, "Q4_0", 32, 18},
    {DType::kQ5_0, "Q5_0", 32, 22},
    {DType::kQ4_K, "Q4_K", 256, 144},
    {DType::kQ5_K, "Q5_K", 256, 176},
    {DType::kQ6_K, "Q6_K", 256, 210},
    {DType::kIQ4_NL, "IQ4_NL", 32, 18},
    {DType::kF64, "F64", 1, 8},
    {DType::kI64, "I64", 1, 8},
    {DType::kI32, "I32", 1, 4},
    {DType::kI16, "I16", 1, 2},
    {DType::kI8, "I8", 1, 1},
    {DType::kU64, "U64", 1, 8},
    {DType::kU32, "U32", 1, 4},
    {DType::kU16, "U16", 1, 2},
    {DType::kU8, "U8", 1, 1},
    {DType::kBool, "BOOL", 1, 1},
    {DType::kC64, "C64", 1, 8},
    {DType::kF8E4M3, "F8_E4M3", 1, 1},
    {DType::kF8E5M2, "F8_E5M2", 1, 1},
    {DType::kF8E8M0, "F8_E8M0", 1, 1},
    {DType::kF8E4M3FNUZ, "F8_E4M3FNUZ", 1, 1},
    {DType::kF8E5M2FNUZ, "F8_E5M2FNUZ", 1, 1},
}};

}  // namespace

const DTypeInfo& InfoOf(DType dtype) {
  const DTypeInfo& info = kInfos[static_cast<size_t>(dtype)];
  GHOST_CHECK(info.dtype == dtype);
  return info;
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const DTypeInfo& info : kInfos) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

float F32FromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float32
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
    return sign ? -magnitude : magnitude;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t F16FromF32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude <
      0x38800000u) {  // below 2^-14: subnormal, in units of 2^-24; the default rounding is to even
    const float units = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1.0p24f);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(units));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

uint16_t BF16FromF32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);  // quiet NaN
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace ghost
