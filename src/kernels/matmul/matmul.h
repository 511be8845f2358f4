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
// With F32, F16 and BF16 weights the arithmetic is float32; 16-bit weights are widened exactly, in registers
// or tile by tile in the cache. With quantised weights, rows of x are quantised to blocks of signed bytes by
// the rule of activation_blocks.h and multiplied in integers (int8_product.h). With few rows (decoding) every
// weight is read from memory once for all of them. A row's result does not depend on the number of threads;
// its rounding depends on T only in whether few rows or many are multiplied. K = 0 gives the bias or zeros.
// Each thread keeps scratch for a tile and up to 256 rows of x; nothing grows with T or O. y must not overlap
// x.
void MatMul(ConstView x, WeightView w, View y, const MatMulOptions& options = {});

// The same as three loops, accumulated in float64 and rounded once, with x quantised likewise: the
// specification that tests compare with.
void MatMulRef(ConstView x, WeightView w, View y, const MatMulOptions& options = {});

}  // namespace ghost
