// Vectors that a model may not have.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace ghost {

// Empty for an absent tensor.
inline std::vector<float> OptionalFloats(const Tensor& tensor) {
  return tensor.empty() ? std::vector<float>{} : ToFloats(tensor);
}

// Null for an absent vector.
inline const float* DataOrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace ghost
