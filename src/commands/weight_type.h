// Element types as options name them.
#pragma once

#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace ghost {

inline constexpr std::string_view kWeightTypeOptions =
    "f32, f16, bf16, q8_0, q4_0, q5_0, q4_k, q5_k, q6_k, iq4_nl";

// "q4_k" -> DType::kQ4_K and so on; nullopt for what is no type of weights.
inline std::optional<DType> WeightTypeFromOption(const std::string& name) {
  std::string upper = name;
  for (char& c : upper) {
    if (std::isupper(static_cast<unsigned char>(c))) return std::nullopt;
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  const std::optional<DType> dtype = DTypeFromName(upper);
  return dtype && IsWeightType(*dtype) ? dtype : std::nullopt;
}

}  // namespace ghost
