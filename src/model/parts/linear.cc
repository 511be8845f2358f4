#include "model/parts/linear.h"

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/rows/scale.h"
#include "model/optional_floats.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

Linear MakeLinear(const Tensor& weight, const Tensor& bias, float weight_factor, float bias_factor) {
  Linear linear{weight, OptionalFloats(bias), {}};
  if (bias_factor != 1.0f) {
    for (float& value : linear.bias) value *= bias_factor;
  }
  if (weight_factor != 1.0f) linear.scale.assign(static_cast<size_t>(weight.shape()[0]), weight_factor);
  return linear;
}

void Apply(const Linear& linear, ConstView x, View y) {
  MatMul(x, WeightView(linear.weight), y,
         {.bias = DataOrNull(linear.bias), .scale = DataOrNull(linear.scale)});
}

void ApplyAccumulate(const Linear& linear, ConstView x, View y) {
  MatMul(x, WeightView(linear.weight), y,
         {.bias = DataOrNull(linear.bias), .accumulate = true, .scale = DataOrNull(linear.scale)});
}

void ApplyTransposed(const Linear& linear, ConstView dy, Buffer& scaled, View dx) {
  if (linear.scale.empty()) return MatMulTransposed(dy, WeightView(linear.weight), dx);
  const View product = Grow(scaled, dy.rows, dy.cols);
  ScaleColumns(dy, linear.scale.data(), product);
  MatMulTransposed(product, WeightView(linear.weight), dx);
}

}  // namespace ghost
