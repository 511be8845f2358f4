#include "kernels/norm/norm_backward.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/row_tasks.h"
#include "kernels/same_shape.h"
#include "kernels/simd/row_backward_simd.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

constexpr int64_t kBackwardRowsPerTask = 8;
constexpr int64_t kRowsPerPiece = 64;

// Calls body(t, sums) for every row; `sums` (cols) starts as zeros in every piece of kRowsPerPiece rows. Then
// adds the sums of all pieces to `totals`, in order. If `totals` is null, `sums` is null too.
template <class Body>
void ForEachRowSumming(int64_t T, int64_t cols, int64_t work, float* totals, const Body& body) {
  const auto without_sums = [&](int64_t t) { body(t, nullptr); };
  if (!totals) return ForEachRow(T, kBackwardRowsPerTask, without_sums, work);
  const int64_t pieces = (T + kRowsPerPiece - 1) / kRowsPerPiece;
  float* parts = ThreadScratch(kPartsSlot, pieces * cols);
  const auto piece = [&](int64_t i) {
    float* sums = parts + i * cols;
    std::fill_n(sums, cols, 0.0f);
    const int64_t end = std::min(T, (i + 1) * kRowsPerPiece);
    for (int64_t t = i * kRowsPerPiece; t < end; ++t) body(t, sums);
  };
  ParallelFor(pieces, piece, work);
  for (int64_t i = 0; i < pieces; ++i) {
    for (int64_t c = 0; c < cols; ++c) totals[c] += parts[i * cols + c];
  }
}

// Runs `row` (row_backward_simd.h) on every part of every row.
template <class GatedRow>
void ForEachGatedPart(const GatedRow& row, ConstView y, ConstView z, const float* weight, float eps,
                      int groups, ConstView dout, const GatedNormGradients& gradients) {
  GHOST_CHECK(groups >= 1 && y.cols % groups == 0 && SameShape(y, z) && SameShape(y, dout));
  GHOST_CHECK(SameShape(y, gradients.y) && SameShape(y, gradients.z));
  const int64_t part = y.cols / groups;
  ForEachRowSumming(y.rows, y.cols, y.rows * y.cols * 20, gradients.weight, [&](int64_t t, float* sums) {
    for (int64_t r = 0; r < y.cols; r += part) {
      row({y.Row(t) + r, z.Row(t) + r, weight + r, dout.Row(t) + r, gradients.y.Row(t) + r,
           gradients.z.Row(t) + r, sums ? sums + r : nullptr, part},
          eps);
    }
  });
}

}  // namespace

void RmsNormBackward(ConstView x, const float* weight, float eps, ConstView dy, View dx, float* dweight) {
  GHOST_CHECK(SameShape(x, dy) && SameShape(x, dx));
  ForEachRowSumming(x.rows, x.cols, x.rows * x.cols * 6, dweight, [&](int64_t t, float* sums) {
    RmsNormBackwardRow(x.Row(t), weight, eps, dy.Row(t), x.cols, dx.Row(t), sums);
  });
}

void GatedRmsNormBackward(ConstView y, ConstView z, const float* weight, float eps, int groups,
                          ConstView dout, const GatedNormGradients& gradients) {
  ForEachGatedPart(GatedRmsNormBackwardRow, y, z, weight, eps, groups, dout, gradients);
}

void RmsNormThenGateBackward(ConstView y, ConstView z, const float* weight, float eps, int groups,
                             ConstView dout, const GatedNormGradients& gradients) {
  ForEachGatedPart(RmsNormThenGateBackwardRow, y, z, weight, eps, groups, dout, gradients);
}

void SoftplusClampBackward(ConstView raw, const float* bias, float low, float high, ConstView ddt,
                           View draw) {
  GHOST_CHECK(SameShape(raw, ddt) && SameShape(raw, draw));
  const auto row = [&](int64_t t) {
    SoftplusClampBackwardRow(raw.Row(t), bias, low, high, ddt.Row(t), raw.cols, draw.Row(t));
  };
  ForEachRow(raw.rows, kBackwardRowsPerTask, row, /*work=*/raw.rows * raw.cols * 40);
}

}  // namespace ghost
