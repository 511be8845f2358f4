// The two matrix products of a linear layer's backward pass, made of MatMul on transposed copies.
#pragma once

#include "tensor/view.h"

namespace ghost {

// dx[t][k] = sum_o dy[t][o] * w[o][k]: the gradient of the input of y = x W^T.  dy: (T, O), w: (O, K) as
// stored, any weight type, dx: (T, K), overwritten; it must not overlap dy. Weights are widened and
// transposed a few rows at a time into up to 8 MB of scratch (more only for a single row beyond that).
void MatMulTransposed(ConstView dy, WeightView w, View dx);

// dw[o][k] += sum_t dy[t][o] * x[t][k]: the gradient of the weights.  dy: (T, O), x: (T, K), dw: (O, K).
void OuterAccumulate(ConstView dy, ConstView x, View dw);

// sums[o] += sum_t dy[t][o], in float64 and rounded once: the gradient of a bias.  dy: (T, O), sums: (O).
void AddColumnSums(ConstView dy, float* sums);

// The same as three loops in float64.
void MatMulTransposedRef(ConstView dy, WeightView w, View dx);
void OuterAccumulateRef(ConstView dy, ConstView x, View dw);

}  // namespace ghost
