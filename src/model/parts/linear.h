// A projection that is ready to run: y = scale * (x W^T) + bias.
#pragma once

#include <vector>

#include "tensor/buffer.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

namespace ghost {

// The matrix stays as stored (and mapped); the vectors are float32, and empty where there is no bias or every
// factor is 1.
struct Linear {
  Tensor weight;             // (outputs, inputs)
  std::vector<float> bias;   // (outputs), its factor included
  std::vector<float> scale;  // (outputs)
};

// y = weight_factor * (x W^T) + bias_factor * bias. `bias` may be empty.
Linear MakeLinear(const Tensor& weight, const Tensor& bias = {}, float weight_factor = 1.0f,
                  float bias_factor = 1.0f);
// The usual case: `factor` multiplies the whole output.
inline Linear MakeScaledLinear(const Tensor& weight, const Tensor& bias, float factor) {
  return MakeLinear(weight, bias, factor, factor);
}

void Apply(const Linear& linear, ConstView x, View y);            // y = ..., (T, outputs)
void ApplyAccumulate(const Linear& linear, ConstView x, View y);  // y += ...

// dx = dy through the transposed projection, (T, inputs), overwritten. `scaled` is scratch for scale * dy.
void ApplyTransposed(const Linear& linear, ConstView dy, Buffer& scaled, View dx);

}  // namespace ghost
