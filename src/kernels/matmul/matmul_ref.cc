#include <vector>

#include "kernels/matmul/matmul.h"

namespace ghost {

void MatMulRef(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  const int64_t T = x.rows, K = x.cols, O = w.rows;
  std::vector<float> row(static_cast<size_t>(K));
  for (int64_t o = 0; o < O; ++o) {
    WidenElements(w.dtype, w.Row(o), 0, K, row.data());
    const double scale = options.scale ? options.scale[o] : 1.0;
    for (int64_t t = 0; t < T; ++t) {
      double sum = options.bias ? options.bias[o] : 0.0;
      if (options.accumulate) sum += y.Row(t)[o];
      for (int64_t k = 0; k < K; ++k) sum += scale * x.Row(t)[k] * row[static_cast<size_t>(k)];
      y.Row(t)[o] = static_cast<float>(sum);
    }
  }
}

}  // namespace ghost
