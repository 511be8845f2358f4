// Constants that GGUF's reader and writer share. Internal to src/io.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/gguf.h"
#include "tensor/dtype.h"

namespace ghost {

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr uint32_t kGgufVersion = 3;
inline constexpr uint64_t kGgufDefaultAlignment = 32;
inline constexpr const char* kGgufAlignmentKey = "general.alignment";
inline constexpr uint64_t kGgufMaxNameBytes = 63;
inline constexpr int kGgufMaxDims = 4;

inline constexpr uint32_t kGgufArray = 9;
inline constexpr uint32_t kGgufTypeCount = 13;

// GgufValue's alternatives: the scalars of types 0..8 and 10..12, then arrays of the same.
inline constexpr size_t kGgufScalarKinds = std::variant_size_v<GgufValue> / 2;
inline bool IsGgufArray(const GgufValue& value) { return value.index() >= kGgufScalarKinds; }

// The type number of a scalar, or of an array's elements.
inline uint32_t GgufTypeNumber(const GgufValue& value) {
  const auto kind = static_cast<uint32_t>(value.index() % kGgufScalarKinds);
  return kind < kGgufArray ? kind : kind + 1;
}

inline constexpr std::array<std::string_view, kGgufTypeCount> kGgufTypeNames = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

struct GgufTensorType {
  uint32_t number;
  DType dtype;
};
inline constexpr std::array<GgufTensorType, 10> kGgufTensorTypes = {{{0, DType::kF32},
                                                                     {1, DType::kF16},
                                                                     {2, DType::kQ4_0},
                                                                     {6, DType::kQ5_0},
                                                                     {8, DType::kQ8_0},
                                                                     {12, DType::kQ4_K},
                                                                     {13, DType::kQ5_K},
                                                                     {14, DType::kQ6_K},
                                                                     {20, DType::kIQ4_NL},
                                                                     {30, DType::kBF16}}};

// "F32, F16, ...", for messages.
inline std::string GgufTypeList() {
  std::string list;
  for (const GgufTensorType& type : kGgufTensorTypes) {
    list += (list.empty() ? "" : ", ") + std::string(NameOf(type.dtype));
  }
  return list;
}

}  // namespace ghost
