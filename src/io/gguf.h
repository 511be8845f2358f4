// GGUF version 3, as llama.cpp reads it: typed key-value pairs, tensor infos, aligned data. docs/formats.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/tensor_set.h"

namespace ghost {

// Integers of every width are widened to 64 bits on reading; `GgufWriter` style saving narrows them again
// through the explicit alternatives below.
struct GgufValue;
using GgufArray = std::vector<GgufValue>;
struct GgufValue {
  std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string, uint64_t,
               int64_t, double, std::vector<int32_t>, std::vector<float>, std::vector<std::string>>
      value;
};

// Shapes in `tensors` are row-major (GGUF stores them reversed): {C, R} in the file is Shape{R, C} here.
struct GgufFile {
  std::map<std::string, GgufValue> keys;
  TensorSet tensors;
};

GgufFile ReadGguf(const std::string& path);

}  // namespace ghost
