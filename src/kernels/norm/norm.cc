#include "kernels/norm/norm.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/norm/norm_simd.h"

namespace ghost {
namespace {

constexpr int64_t kRowsPerTask = 8;

template <class Body>
void ForEachRow(int64_t T, const Body& body) {
  ParallelFor((T + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task) {
    const int64_t end = std::min(T, (task + 1) * kRowsPerTask);
    for (int64_t t = task * kRowsPerTask; t < end; ++t) body(t);
  });
}

// Runs `row` (norm_simd.h) on every part of every row.
template <class GatedRow>
void ForEachGatedPart(const GatedRow& row, ConstView y, ConstView z, const float* weight, float eps,
                      int groups, View out) {
  GHOST_CHECK(groups >= 1 && y.cols % groups == 0 && z.rows == y.rows && z.cols == y.cols);
  GHOST_CHECK(out.rows == y.rows && out.cols == y.cols);
  const int64_t part = y.cols / groups;
  ForEachRow(y.rows, [&](int64_t t) {
    for (int64_t r = 0; r < y.cols; r += part) {
      row(y.Row(t) + r, z.Row(t) + r, weight + r, eps, part, out.Row(t) + r);
    }
  });
}

}  // namespace

void RmsNorm(ConstView x, const float* weight, float eps, View out) {
  GHOST_CHECK(out.rows == x.rows && out.cols == x.cols);
  ForEachRow(x.rows, [&](int64_t t) { RmsNormRow(x.Row(t), weight, eps, x.cols, out.Row(t)); });
}

void GatedRmsNorm(ConstView y, ConstView z, const float* weight, float eps, int groups, View out) {
  ForEachGatedPart(GatedRmsNormRow, y, z, weight, eps, groups, out);
}

void RmsNormThenGate(ConstView y, ConstView z, const float* weight, float eps, int groups, View out) {
  ForEachGatedPart(RmsNormThenGateRow, y, z, weight, eps, groups, out);
}

}  // namespace ghost
