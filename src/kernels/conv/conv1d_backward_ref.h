// The specification of conv1d_backward.h: scalar, for float and for double.
#pragma once

#include <vector>

#include "kernels/norm/norm_backward_ref.h"
#include "tensor/view.h"

namespace ghost {

// dtaps (C, W) and dbias (C) are added to; bias may be null.
template <class T>
void CausalConvSiluBackwardRef(MatrixView<const T> in, const T* taps, const T* bias, int64_t W,
                               MatrixView<const T> dout, MatrixView<T> din, T* dtaps, T* dbias) {
  const int64_t L = in.rows, C = in.cols;
  for (int64_t c = 0; c < C; ++c) {
    std::vector<double> dpre(static_cast<size_t>(L));
    for (int64_t t = 0; t < L; ++t) {
      double pre = bias ? bias[c] : 0;
      for (int64_t w = 0; w < W; ++w) {
        const int64_t s = t - (W - 1) + w;
        if (s >= 0) pre += double{taps[c * W + w]} * in.Row(s)[c];
      }
      dpre[static_cast<size_t>(t)] = dout.Row(t)[c] * SiluSlopeRef(pre);
    }
    for (int64_t w = 0; w < W; ++w) {
      double sum = 0;
      for (int64_t t = W - 1 - w; t < L; ++t)
        sum += dpre[static_cast<size_t>(t)] * in.Row(t - (W - 1) + w)[c];
      dtaps[c * W + w] = static_cast<T>(dtaps[c * W + w] + sum);
    }
    double sum = 0;
    for (const double d : dpre) sum += d;
    dbias[c] = static_cast<T>(dbias[c] + sum);
    for (int64_t s = 0; s < L; ++s) {
      double d = 0;
      for (int64_t w = 0; w < W; ++w) {
        const int64_t t = s + (W - 1) - w;
        if (t < L) d += double{taps[c * W + w]} * dpre[static_cast<size_t>(t)];
      }
      din.Row(s)[c] = static_cast<T>(d);
    }
  }
}

}  // namespace ghost
