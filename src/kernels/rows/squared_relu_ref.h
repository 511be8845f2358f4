// The specification of squared_relu.h: scalar, for float and for double, so that tests can compare the
// gradient with finite differences in float64.
#pragma once

#include <cstdint>

#include "tensor/view.h"

namespace ghost {

template <class T>
void SquaredReluRef(MatrixView<const T> in, MatrixView<T> out) {
  for (int64_t t = 0; t < in.rows; ++t) {
    for (int64_t f = 0; f < in.cols; ++f) {
      const double v = in.Row(t)[f], positive = v < 0 ? 0 : v;
      out.Row(t)[f] = static_cast<T>(positive * positive);
    }
  }
}

template <class T>
void SquaredReluBackwardRef(MatrixView<const T> in, MatrixView<const T> dout, MatrixView<T> din) {
  for (int64_t t = 0; t < in.rows; ++t) {
    for (int64_t f = 0; f < in.cols; ++f) {
      const double v = in.Row(t)[f], positive = v < 0 ? 0 : v;
      din.Row(t)[f] = static_cast<T>(dout.Row(t)[f] * 2 * positive);
    }
  }
}

}  // namespace ghost
