// Matrix product with stored weights: every linear layer of the model.
#pragma once

#include "tensor/view.h"

namespace ghost {

struct MatMulOptions {
  const float* bias = nullptr;   // (O), added to every row; may be null
  bool accumulate = false;       // add to y instead of overwriting it
  const float* scale = nullptr;  // (O), multiplies each column of the product before the bias; null: ones
};

// y[t][o] = (scale[o] *) sum_k x[t][k] * w[o][k]  (+ bias[o]) (+ y[t][o]);  x: (T, K), w: (O, K), y: (T, O).
// Arithmetic is float32. 16-bit and Q8_0 weights are widened exactly, in registers or tile by tile in the
// cache (a dot product may apply a Q8_0 scale to the sum of its block). With few rows (decoding) every weight
// is read from memory once for all of them. A row's result does not depend on the number of threads; its
// rounding may depend on T. K = 0 gives the bias or zeros. Each thread keeps scratch for a tile and up to 256
// rows of x; nothing grows with T or O. y must not overlap x.
void MatMul(ConstView x, WeightView w, View y, const MatMulOptions& options = {});

// The same as three loops, accumulated in float64 and rounded once: the specification
// that tests compare with.
void MatMulRef(ConstView x, WeightView w, View y, const MatMulOptions& options = {});

}  // namespace ghost
