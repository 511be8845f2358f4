#include <cmath>

#include "kernels/norm/norm.h"

namespace ghost {

void RmsNormRef(ConstView x, const float* weight, float eps, View out) {
  const int64_t T = x.rows, M = x.cols;
  for (int64_t t = 0; t < T; ++t) {
    double sum = 0;
    for (int64_t m = 0; m < M; ++m) sum += double{x.Row(t)[m]} * x.Row(t)[m];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(M) + eps);
    for (int64_t m = 0; m < M; ++m) {
      out.Row(t)[m] = static_cast<float>(x.Row(t)[m] * scale * weight[m]);
    }
  }
}

void GatedRmsNormRef(View y, ConstView z, const float* weight, float eps, int groups) {
  const int64_t T = y.rows, part = y.cols / groups;
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t r = 0; r < y.cols; ++r) {
      const double gate = z.Row(t)[r];
      y.Row(t)[r] = static_cast<float>(y.Row(t)[r] * gate / (1.0 + std::exp(-gate)));
    }
    for (int g = 0; g < groups; ++g) {
      const View block = y.Rows(t, 1).Cols(g * part, part);
      RmsNormRef(block, weight + g * part, eps, block);
    }
  }
}

void RmsNormThenGateRef(ConstView y, ConstView z, const float* weight, float eps, int groups, View out) {
  const int64_t part = y.cols / groups;
  for (int64_t t = 0; t < y.rows; ++t) {
    for (int64_t begin = 0; begin < y.cols; begin += part) {
      double sum = 0;
      for (int64_t r = begin; r < begin + part; ++r) sum += double{y.Row(t)[r]} * y.Row(t)[r];
      const double scale = 1.0 / std::sqrt(sum / static_cast<double>(part) + eps);
      for (int64_t r = begin; r < begin + part; ++r) {
        const double gate = z.Row(t)[r], silu = gate / (1.0 + std::exp(-gate));
        out.Row(t)[r] = static_cast<float>(y.Row(t)[r] * scale * weight[r] * silu);
      }
    }
  }
}

}  // namespace ghost
