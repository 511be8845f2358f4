// The specification of silu_gate.h: scalar, for float and for double, so that tests can compare the gradient
// with finite differences in float64.
#pragma once

#include <cstdint>

#include "kernels/norm/norm_backward_ref.h"
#include "tensor/view.h"

namespace ghost {

template <class T>
void SiluGateRef(MatrixView<const T> y, MatrixView<const T> z, MatrixView<T> out) {
  for (int64_t t = 0; t < y.rows; ++t) {
    for (int64_t r = 0; r < y.cols; ++r) {
      const double gate = z.Row(t)[r];
      out.Row(t)[r] = static_cast<T>(y.Row(t)[r] * (gate * SigmoidRef(gate)));
    }
  }
}

template <class T>
void SiluGateBackwardRef(MatrixView<const T> y, MatrixView<const T> z, MatrixView<const T> dout,
                         MatrixView<T> dy, MatrixView<T> dz) {
  for (int64_t t = 0; t < y.rows; ++t) {
    for (int64_t r = 0; r < y.cols; ++r) {
      const double value = y.Row(t)[r], gate = z.Row(t)[r], grad = dout.Row(t)[r];
      dy.Row(t)[r] = static_cast<T>(grad * gate * SigmoidRef(gate));
      dz.Row(t)[r] = static_cast<T>(grad * value * SiluSlopeRef(gate));
    }
  }
}

}  // namespace ghost
