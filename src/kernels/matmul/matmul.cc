#include "kernels/matmul/matmul.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/matmul/int8_product.h"
#include "kernels/matmul/matmul_simd.h"
#include "kernels/row_tasks.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

constexpr int64_t kDotWeightsPerTask = 64;  // rows of w
constexpr int64_t kInt8WeightsPerTask = 4 * kGroupWeights;
constexpr int64_t kSerialPanels = 4;
constexpr int64_t kBlocksPerThread = 4;  // with so many rows threads process whole blocks and never wait

// K = 0: the sum is empty and no factor changes it; only bias and accumulation remain.
void StoreEmptySum(View y, const MatMulOptions& options) {
  for (int64_t t = 0; t < y.rows; ++t) {
    for (int64_t o = 0; o < y.cols; ++o) {
      y.Row(t)[o] = (options.accumulate ? y.Row(t)[o] : 0.0f) + (options.bias ? options.bias[o] : 0.0f);
    }
  }
}

// pack(panel) for all panels of a block of rows.
template <class Pack>
void PackPanels(int64_t panels, const Pack& pack) {
  if (panels > kSerialPanels) return ParallelFor(panels, pack);
  for (int64_t panel = 0; panel < panels; ++panel) pack(panel);
}

// At most kMaxTileRows rows of x, in float32.
void MatMulFloatBlock(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  const int64_t T = x.rows, K = x.cols, O = w.rows;
  float* packed = ThreadScratch(0, PackedFloats(T, K));
  PackPanels(CeilDiv(T, PanelRows()), [&](int64_t panel) { PackPanel(x, panel, packed); });
  const auto multiply = [&](int64_t tile) {
    const int64_t begin = tile * kTileWeights, end = std::min(O, begin + kTileWeights);
    MatMulTile(packed, w, y, options, begin, end, ThreadScratch(1, TileScratchFloats()));
  };
  ParallelFor(CeilDiv(O, kTileWeights), multiply, /*work=*/T * K * O);
}

// At most kMaxTileRows rows of x, in integers.
void MatMulInt8Block(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  const int64_t T = x.rows, K = x.cols, O = w.rows;
  float* packed = ThreadScratch(0, PackedInt8Floats(T, K));
  PackPanels(CeilDiv(T, kInt8PanelRows), [&](int64_t panel) { PackInt8Panel(x, panel, w.dtype, packed); });
  const auto multiply = [&](int64_t task) {
    const int64_t begin = task * kInt8WeightsPerTask, end = std::min(O, begin + kInt8WeightsPerTask);
    MatMulInt8(packed, w, y, options, begin, end, ThreadScratch(1, Int8ScratchFloats(K)));
  };
  ParallelFor(CeilDiv(O, kInt8WeightsPerTask), multiply, /*work=*/T * K * O);
}

}  // namespace

void MatMul(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  const int64_t T = x.rows, K = x.cols, O = w.rows;
  GHOST_CHECK(w.cols == K && y.rows == T && y.cols == O);
  GHOST_CHECK(IsWeightType(w.dtype) && K % InfoOf(w.dtype).block_size == 0);
  if (T == 0 || O == 0) return;
  if (K == 0) return StoreEmptySum(y, options);
  const bool integers = IsBlockType(w.dtype);
  if (!integers && T <= MaxDotRows()) {
    const auto multiply = [&](int64_t task) {
      const int64_t begin = task * kDotWeightsPerTask;
      MatMulDots(x, w, y, options, begin, std::min(O, begin + kDotWeightsPerTask));
    };
    return ParallelFor(CeilDiv(O, kDotWeightsPerTask), multiply, /*work=*/T * K * O);
  }
  const auto block = [&](int64_t number) {
    const int64_t t = number * kMaxTileRows, rows = std::min(kMaxTileRows, T - t);
    (integers ? MatMulInt8Block : MatMulFloatBlock)(x.Rows(t, rows), w, y.Rows(t, rows), options);
  };
  const int64_t blocks = CeilDiv(T, kMaxTileRows);
  if (blocks >= kBlocksPerThread * NumThreads()) return ParallelFor(blocks, block, /*work=*/T * K * O);
  for (int64_t number = 0; number < blocks; ++number) block(number);
}

}  // namespace ghost
