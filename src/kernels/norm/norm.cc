#include "kernels/norm/norm.h"

#include "kernels/norm/norm_simd.h"
#include "kernels/row_tasks.h"

namespace ghost {
namespace {

constexpr int64_t kNormRowsPerTask = 8;

// Runs `row` (norm_simd.h) on every part of every row.
template <class GatedRow>
void ForEachGatedPart(const GatedRow& row, ConstView y, ConstView z, const float* weight, float eps,
                      int groups, View out) {
  GHOST_CHECK(groups >= 1 && y.cols % groups == 0 && z.rows == y.rows && z.cols == y.cols);
  GHOST_CHECK(out.rows == y.rows && out.cols == y.cols);
  const int64_t part = y.cols / groups;
  ForEachRow(y.rows, kNormRowsPerTask, [&](int64_t t) {
    for (int64_t r = 0; r < y.cols; r += part) {
      row(y.Row(t) + r, z.Row(t) + r, weight + r, eps, part, out.Row(t) + r);
    }
  });
}

}  // namespace

void RmsNorm(ConstView x, const float* weight, float eps, View out) {
  GHOST_CHECK(out.rows == x.rows && out.cols == x.cols);
  ForEachRow(x.rows, kNormRowsPerTask,
             [&](int64_t t) { RmsNormRow(x.Row(t), weight, eps, x.cols, out.Row(t)); });
}

void GatedRmsNorm(ConstView y, ConstView z, const float* weight, float eps, int groups, View out) {
  ForEachGatedPart(GatedRmsNormRow, y, z, weight, eps, groups, out);
}

void RmsNormThenGate(ConstView y, ConstView z, const float* weight, float eps, int groups, View out) {
  ForEachGatedPart(RmsNormThenGateRow, y, z, weight, eps, groups, out);
}

}  // namespace ghost
