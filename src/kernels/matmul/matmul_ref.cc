#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/matmul/activation_blocks.h"
#include "kernels/matmul/matmul.h"

namespace ghost {
namespace {

// What the product multiplies with the weights: row t of x itself or, for block-quantised weights, its
// quantised blocks.
std::vector<double> Multiplied(ConstView x, int64_t t, DType weights) {
  std::vector<double> values(x.Row(t), x.Row(t) + x.cols);
  if (!IsBlockType(weights)) return values;
  for (int64_t k = 0; k < x.cols; k += kActivationBlock) {
    int8_t q[kActivationBlock];
    const double scale = QuantizeActivationsRef(x.Row(t) + k, q);
    for (int64_t i = 0; i < kActivationBlock; ++i) values[static_cast<size_t>(k + i)] = scale * q[i];
  }
  return values;
}

}  // namespace

float QuantizeActivationsRef(const float* x, int8_t* q) {
  float largest = 0.0f;
  bool finite = true;
  for (int64_t i = 0; i < kActivationBlock; ++i) {
    finite = finite && std::isfinite(x[i]);
    largest = std::fmax(largest, std::fabs(x[i]));
  }
  const bool plain = finite && largest >= kActivationTiny;
  const float inverse = plain ? 127.0f / largest : 0.0f;
  for (int64_t i = 0; i < kActivationBlock; ++i) {
    q[i] = plain ? static_cast<int8_t>(std::nearbyint(x[i] * inverse)) : int8_t{0};
  }
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  return plain ? largest / 127.0f : 0.0f;
}

void MatMulRef(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  const int64_t T = x.rows, K = x.cols, O = w.rows;
  std::vector<float> row(static_cast<size_t>(K));
  for (int64_t t = 0; t < T; ++t) {
    const std::vector<double> values = Multiplied(x, t, w.dtype);
    for (int64_t o = 0; o < O; ++o) {
      WidenElements(w.dtype, w.Row(o), 0, K, row.data());
      const double scale = options.scale ? options.scale[o] : 1.0;
      double sum = options.bias ? options.bias[o] : 0.0;
      if (options.accumulate) sum += y.Row(t)[o];
      for (size_t k = 0; k < row.size(); ++k) sum += scale * values[k] * row[k];
      y.Row(t)[o] = static_cast<float>(sum);
    }
  }
}

}  // namespace ghost
