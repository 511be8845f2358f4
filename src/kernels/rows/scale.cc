// Plain loops, which the compiler vectorises: memory limits them, not arithmetic.
#include "kernels/rows/scale.h"

#include "base/threads.h"

namespace ghost {

void ScaleRows(ConstView from, float factor, View to) {
  GHOST_CHECK(to.rows == from.rows && to.cols == from.cols);
  const auto row = [&](int64_t t) {
    const float* source = from.Row(t);
    float* target = to.Row(t);
    for (int64_t c = 0; c < from.cols; ++c) target[c] = factor * source[c];
  };
  ParallelFor(from.rows, row, /*work=*/from.rows * from.cols);
}

void ScaleColumns(ConstView from, const float* factors, View to) {
  GHOST_CHECK(to.rows == from.rows && to.cols == from.cols);
  const auto row = [&](int64_t t) {
    const float* source = from.Row(t);
    float* target = to.Row(t);
    for (int64_t c = 0; c < from.cols; ++c) target[c] = factors[c] * source[c];
  };
  ParallelFor(from.rows, row, /*work=*/from.rows * from.cols);
}

}  // namespace ghost
