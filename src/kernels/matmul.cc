#include "kernels/matmul.h"

#include <cblas.h>

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "kernels/widen.h"

namespace ghost {
namespace {
constexpr int64_t kTileRows = 128;  // of w
}  // namespace

void MatMul(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  const int64_t T = x.rows, K = x.cols, O = w.rows;
  GHOST_CHECK(w.cols == K && y.rows == T && y.cols == O);
  ParallelFor((O + kTileRows - 1) / kTileRows, [&](int64_t tile) {
    const int64_t begin = tile * kTileRows, count = std::min(kTileRows, O - begin);
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t o = begin; o < begin + count; ++o) {
        y.Row(t)[o] = (options.accumulate ? y.Row(t)[o] : 0.0f) + (options.bias ? options.bias[o] : 0.0f);
      }
    }
    if (K == 0 || T == 0) return;
    std::vector<float> wide(static_cast<size_t>(count * K));
    Widen(w.Rows(begin, count), wide.data());
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(T), static_cast<int>(count),
                static_cast<int>(K), 1.0f, x.data, static_cast<int>(x.stride), wide.data(),
                static_cast<int>(K), 1.0f, y.data + begin, static_cast<int>(y.stride));
  });
}

}  // namespace ghost
