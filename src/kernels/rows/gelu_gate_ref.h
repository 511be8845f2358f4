// The specification of gelu_gate.h: scalar, for float and for double, so that tests can compare the gradient
// with finite differences in float64.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/view.h"

namespace ghost {

// Phi(x), by erfc, which keeps the digits that 1 + erf loses for negative x.
inline double NormalCdfRef(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
inline double GeluRef(double x) { return x * NormalCdfRef(x); }
// d gelu(x) / dx; the factor is 1 / sqrt(2 pi).
inline double GeluSlopeRef(double x) {
  return NormalCdfRef(x) + x * std::exp(-0.5 * x * x) * 0.39894228040143267794;
}

template <class T>
void GeluGateRef(MatrixView<const T> in, MatrixView<T> out) {
  const int64_t F = out.cols;
  for (int64_t t = 0; t < in.rows; ++t) {
    for (int64_t f = 0; f < F; ++f) {
      out.Row(t)[f] = static_cast<T>(GeluRef(in.Row(t)[f]) * in.Row(t)[F + f]);
    }
  }
}

template <class T>
void GeluGateBackwardRef(MatrixView<const T> in, MatrixView<const T> dout, MatrixView<T> din) {
  const int64_t F = dout.cols;
  for (int64_t t = 0; t < in.rows; ++t) {
    for (int64_t f = 0; f < F; ++f) {
      const double x = in.Row(t)[f], gate = in.Row(t)[F + f], grad = dout.Row(t)[f];
      din.Row(t)[f] = static_cast<T>(grad * gate * GeluSlopeRef(x));
      din.Row(t)[F + f] = static_cast<T>(grad * GeluRef(x));
    }
  }
}

}  // namespace ghost
