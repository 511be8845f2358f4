#include "kernels/matmul/matmul_backward.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_simd.h"
#include "kernels/row_tasks.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/widen.h"

namespace ghost {
namespace {

constexpr int64_t kStripFloats = 2 << 20;  // of transposed weights: they stay in the last-level cache
constexpr int64_t kLine = 16;              // rows transposed at a time: one cache line of the transposed row
constexpr int kTransposedSlot = 2, kWidenSlot = 4;
constexpr int64_t kOuterBlock = 64, kOuterColumns = 4 * kTileWeights;  // of dw: a piece of parallel work
constexpr int64_t kOuterRows = 1024;  // of dy at a time: a block's columns stay in the second-level cache

WeightView AsWeights(const float* data, int64_t rows, int64_t cols) {
  return {DType::kF32, reinterpret_cast<const std::byte*>(data), rows, cols};
}

// out: (cols, rows)
void Transpose(ConstView in, float* out) {
  ParallelFor(
      CeilDiv(in.rows, kLine),
      [&](int64_t task) {
        const int64_t r = task * kLine;
        TransposeRows(in.Rows(r, std::min(kLine, in.rows - r)), out + r, in.rows);
      },
      /*work=*/in.rows * in.cols);
}

// The same from stored weights.
void TransposeWeights(WeightView w, float* out) {
  if (w.dtype == DType::kF32 && reinterpret_cast<uintptr_t>(w.data) % alignof(float) == 0) {
    return Transpose(ConstView(reinterpret_cast<const float*>(w.data), w.rows, w.cols), out);
  }
  ParallelFor(
      CeilDiv(w.rows, kLine),
      [&](int64_t task) {
        const int64_t r = task * kLine, rows = std::min(kLine, w.rows - r);
        float* wide = ThreadScratch(kWidenSlot, rows * w.cols);
        for (int64_t i = 0; i < rows; ++i) Widen(w.Rows(r + i, 1), wide + i * w.cols);
        TransposeRows(ConstView(wide, rows, w.cols), out + r, w.rows);
      },
      /*work=*/w.rows * w.cols);
}

}  // namespace

void MatMulTransposed(ConstView dy, WeightView w, View dx) {
  const int64_t O = w.rows, K = w.cols;
  GHOST_CHECK(dy.cols == O && dx.rows == dy.rows && dx.cols == K);
  if (O == 0) {
    for (int64_t t = 0; t < dx.rows; ++t) std::fill_n(dx.Row(t), K, 0.0f);
    return;
  }
  const int64_t strip = std::clamp<int64_t>(kStripFloats / std::max<int64_t>(K, 1), 1, O);
  for (int64_t o = 0; o < O; o += strip) {
    const int64_t rows = std::min(strip, O - o);
    float* transposed = ThreadScratch(kTransposedSlot, rows * K);
    TransposeWeights(w.Rows(o, rows), transposed);
    MatMul(dy.Cols(o, rows), AsWeights(transposed, K, rows), dx, {.accumulate = o > 0});
  }
}

void OuterAccumulate(ConstView dy, ConstView x, View dw) {
  const int64_t T = dy.rows, O = dy.cols, K = x.cols;
  GHOST_CHECK(x.rows == T && dw.rows == O && dw.cols == K);
  if (O == 0 || K == 0) return;
  const int64_t strip = std::clamp<int64_t>(kStripFloats / K, 1, kOuterRows);
  const int64_t across = CeilDiv(K, kOuterColumns);
  for (int64_t t = 0; t < T; t += strip) {
    const int64_t rows = std::min(strip, T - t);
    float* transposed = ThreadScratch(kTransposedSlot, rows * K);
    Transpose(x.Rows(t, rows), transposed);
    // One block of dw per task: its columns of dy are already stored t by t, the layout MatMulTile needs.
    const auto block = [&](int64_t piece) {
      const int64_t o = piece / across * kOuterBlock, k = piece % across * kOuterColumns;
      const ConstView columns = dy.Rows(t, rows).Cols(o, std::min(kOuterBlock, O - o));
      const View out = dw.Rows(o, columns.cols);
      float* packed = ThreadScratch(0, PackedFloats(columns.cols, rows));
      PackColumns(columns, packed);
      for (int64_t begin = k; begin < std::min(K, k + kOuterColumns); begin += kTileWeights) {
        const int64_t end = std::min({K, k + kOuterColumns, begin + kTileWeights});
        MatMulTile(packed, AsWeights(transposed, K, rows), out, {.accumulate = true}, begin, end,
                   ThreadScratch(1, TileScratchFloats()));
      }
    };
    ParallelFor(CeilDiv(O, kOuterBlock) * across, block, /*work=*/rows * O * K);
  }
}

void AddColumnSums(ConstView dy, float* sums) {
  constexpr int64_t kColumns = 64;
  const auto strip = [&](int64_t task) {
    const int64_t begin = task * kColumns, count = std::min(kColumns, dy.cols - begin);
    double totals[kColumns] = {};
    for (int64_t t = 0; t < dy.rows; ++t) {
      for (int64_t i = 0; i < count; ++i) totals[i] += dy.Row(t)[begin + i];
    }
    for (int64_t i = 0; i < count; ++i) sums[begin + i] = static_cast<float>(sums[begin + i] + totals[i]);
  };
  ParallelFor(CeilDiv(dy.cols, kColumns), strip, /*work=*/dy.rows * dy.cols);
}

void MatMulTransposedRef(ConstView dy, WeightView w, View dx) {
  std::vector<float> row(static_cast<size_t>(w.cols));
  std::vector<double> sums(static_cast<size_t>(dx.rows * w.cols), 0.0);
  for (int64_t o = 0; o < w.rows; ++o) {
    WidenElements(w.dtype, w.Row(o), 0, w.cols, row.data());
    for (int64_t t = 0; t < dx.rows; ++t) {
      for (int64_t k = 0; k < w.cols; ++k) {
        sums[static_cast<size_t>(t * w.cols + k)] += double{dy.Row(t)[o]} * row[static_cast<size_t>(k)];
      }
    }
  }
  for (int64_t t = 0; t < dx.rows; ++t) {
    for (int64_t k = 0; k < w.cols; ++k)
      dx.Row(t)[k] = static_cast<float>(sums[static_cast<size_t>(t * w.cols + k)]);
  }
}

void OuterAccumulateRef(ConstView dy, ConstView x, View dw) {
  for (int64_t o = 0; o < dw.rows; ++o) {
    for (int64_t k = 0; k < dw.cols; ++k) {
      double sum = dw.Row(o)[k];
      for (int64_t t = 0; t < x.rows; ++t) sum += double{dy.Row(t)[o]} * x.Row(t)[k];
      dw.Row(o)[k] = static_cast<float>(sum);
    }
  }
}

}  // namespace ghost
