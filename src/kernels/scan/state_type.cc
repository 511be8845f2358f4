#include "kernels/scan/state_type.h"

namespace ghost {

std::string_view NameOf(StateType type) {
  switch (type) {
    case StateType::kF32:
      return "f32";
    case StateType::kBF16:
      return "bf16";
    case StateType::kF16:
      return "f16";
    case StateType::kInt8:
      return "int8";
  }
  return "?";
}

std::optional<StateType> StateTypeFromName(std::string_view name) {
  for (const StateType type : kStateTypes) {
    if (NameOf(type) == name) return type;
  }
  return std::nullopt;
}

int64_t StateBytes(StateType type, int64_t channels, int P) {
  switch (type) {
    case StateType::kF32:
      return channels * P * 4;
    case StateType::kBF16:
    case StateType::kF16:
      return channels * P * 2;
    case StateType::kInt8:
      return channels * (4 + int64_t{P});
  }
  return 0;
}

}  // namespace ghost
