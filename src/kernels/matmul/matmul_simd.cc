#include "kernels/matmul/matmul_simd.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_simd.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Once per target.
#include "kernels/matmul/dot_rows-inl.h"
#include "kernels/matmul/sum_tile-inl.h"
#include "kernels/simd/transpose-inl.h"
#include "kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

HWY_INLINE int64_t NumLanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// ---- Lanes over k: few rows of x

int64_t MaxDotRowsTarget() { return kManyRegisters ? kMaxDotRows : kFewDotRows; }

void MatMulDotsTarget(ConstView x, WeightView w, View y, const MatMulOptions& options, int64_t begin,
                      int64_t end) {
  DispatchType(w.dtype, [&](auto type) {
    Unroll<kManyRegisters ? kMaxDotRows : kFewDotRows>([&](auto index) {
      constexpr int kRows = index() + 1;
      if (x.rows != kRows) return;
      DotRows<kRows, type()>(x, w, y, options, begin, end);
    });
  });
}

// ---- Lanes over t: panels of x

int64_t PanelRowsTarget() { return 2 * NumLanes(); }

// Rows that a panel of `rows` occupies: one vector or two.
HWY_INLINE int64_t PanelWidth(int64_t rows) { return rows <= NumLanes() ? NumLanes() : 2 * NumLanes(); }

int64_t PackedFloatsTarget(int64_t T, int64_t K) {
  const int64_t full = T / PanelRowsTarget() * PanelRowsTarget();
  return K * (full + (T > full ? PanelWidth(T - full) : 0));
}

HWY_ATTR void PackPanelTarget(ConstView x, int64_t panel, float* packed) {
  const int64_t K = x.cols, first = panel * PanelRowsTarget(),
                rows = std::min(PanelRowsTarget(), x.rows - first);
  const int64_t width = PanelWidth(rows);
  float* out = packed + first * K;
  TransposeBlock(x.Row(first), x.stride, rows, K, out, width);
  for (int64_t k = 0; k < K && rows < width; ++k)
    std::fill(out + k * width + rows, out + (k + 1) * width, 0.0f);
}

HWY_ATTR void PackColumnsTarget(ConstView x, float* packed) {
  const D d;
  const int64_t K = x.rows, T = x.cols, L = NumLanes();
  for (int64_t first = 0; first < T; first += PanelRowsTarget()) {
    const int64_t rows = std::min(PanelRowsTarget(), T - first), width = PanelWidth(rows);
    float* out = packed + first * K;
    if (rows == 2 * L) {
      for (int64_t k = 0; k < K; ++k, out += width) {
        const float* in = x.Row(k) + first;
        hn::Store(hn::LoadU(d, in), d, out);
        hn::Store(hn::LoadU(d, in + L), d, out + L);
      }
    } else {
      for (int64_t k = 0; k < K; ++k, out += width) {
        std::fill(std::copy_n(x.Row(k) + first, rows, out), out + width, 0.0f);
      }
    }
  }
}

// The rows of w needed after the current ones, prefetched meanwhile. Null: none.
struct NextRows {
  const std::byte* w = nullptr;
  int64_t stride = 0;
  int64_t step = 0;  // bytes per kFetchStep weights
};
constexpr int64_t kFetchStep = 16;

// For kRows rows of w, `depth` values of k and kVectors vectors of t:
//   sums[r][t] (+)= sum_k w[r][k] * panel[k][t]
// A panel of one vector sums even and odd k separately, so that additions need not wait for each other.
template <int kRows, int kVectors>
HWY_INLINE void TileStep(const std::byte* HWY_RESTRICT w, int64_t w_stride, const float* HWY_RESTRICT panel,
                         int64_t depth, bool first, float* HWY_RESTRICT sums, int64_t sums_stride,
                         NextRows next) {
  const D d;
  const int64_t L = NumLanes();
  SumTile<D, kRows> tile(d);
  if (!first) {
    tile.ForEachRow([&](int r, V& v0, V& v1) HWY_ATTR {
      v0 = hn::Load(d, sums + r * sums_stride);
      if constexpr (kVectors > 1) v1 = hn::Load(d, sums + r * sums_stride + L);
    });
  }
  // Two vectors: both for weight k. One vector: weight k for the first, weight k + 1 for the second.
  constexpr int64_t kStep = kVectors > 1 ? 1 : 2;  // values of k
  // Rows are addressed from four pointers with one stride: x86 has too few registers for twelve.
  const std::byte* HWY_RESTRICT w3 = w + (kRows > 3 ? 3 * w_stride : 0);
  const std::byte* HWY_RESTRICT w6 = w + (kRows > 6 ? 6 * w_stride : 0);
  const std::byte* HWY_RESTRICT w9 = w + (kRows > 9 ? 9 * w_stride : 0);
  const auto weight = [&](int r, int64_t k) HWY_ATTR {
    const std::byte* base = r < 3 ? w : r < 6 ? w3 : r < 9 ? w6 : w9;
    return hn::Set(d, StoredRow<DType::kF32>{base + r % 3 * w_stride}.At(k));
  };
  const auto run = [&](int64_t count) HWY_ATTR {
    for (int64_t k = 0; k < count; k += kStep, panel += 2 * L) {
      const V x0 = hn::Load(d, panel), x1 = hn::Load(d, panel + L);
      tile.ForEachRow([&](int r, V& v0, V& v1) HWY_ATTR {
        v0 = hn::MulAdd(weight(r, 0), x0, v0);
        v1 = hn::MulAdd(weight(r, kStep - 1), x1, v1);
      });
      w += 4 * kStep, w3 += 4 * kStep, w6 += 4 * kStep, w9 += 4 * kStep;
    }
  };
  int64_t k = 0;
  if (next.w) {
    for (; k + kFetchStep <= depth; k += kFetchStep, next.w += next.step) {
      for (int64_t r = 0; r < kRows; ++r) hwy::Prefetch(next.w + r * next.stride);
      run(kFetchStep);
    }
  }
  run((depth - k) / kStep * kStep);
  if ((depth - k) % kStep != 0) {  // the last weight alone: nothing for the second sums
    const V x0 = hn::Load(d, panel);
    tile.ForEachRow([&](int r, V& v0, V&) HWY_ATTR { v0 = hn::MulAdd(weight(r, 0), x0, v0); });
  }
  tile.ForEachRow([&](int r, V& v0, V& v1) HWY_ATTR {
    hn::Store(kVectors > 1 ? v0 : hn::Add(v0, v1), d, sums + r * sums_stride);
    if constexpr (kVectors > 1) hn::Store(v1, d, sums + r * sums_stride + L);
  });
}

// Multiplies all `rows` rows of a piece of w by one panel, kMaxSumRows at a time, which also prefetch as many
// rows of `next`, up to next_end.
template <int kVectors>
HWY_ATTR void TilePanel(const std::byte* w, int64_t w_stride, int64_t rows, const float* panel, int64_t depth,
                        bool first, float* sums, int64_t sums_stride, NextRows next,
                        const std::byte* next_end) {
  const auto step = [&](auto count) HWY_ATTR {
    constexpr int kRows = count();
    if (rows < kRows) return;
    if (next.w && next_end - next.w < kRows * next.stride) next.w = nullptr;
    TileStep<kRows, kVectors>(w, w_stride, panel, depth, first, sums, sums_stride, next);
    if (next.w) next.w += kRows * next.stride;
    w += kRows * w_stride;
    sums += kRows * sums_stride;
    rows -= kRows;
  };
  while (rows >= kMaxSumRows) step(std::integral_constant<int, kMaxSumRows>());
  if constexpr (kMaxSumRows > 6) step(std::integral_constant<int, 6>());
  step(std::integral_constant<int, 4>());
  step(std::integral_constant<int, 2>());
  step(std::integral_constant<int, 1>());
}

HWY_ATTR void TransposeRowsTarget(ConstView in, float* out, int64_t stride) {
  TransposeBlock(in.data, in.stride, in.rows, in.cols, out, stride);
}

constexpr int64_t kSumsStride = kMaxTileRows + 16;  // an odd number of cache lines, see simd/row_stride.h
constexpr int64_t kWideStride = kTileDepth + 16;
constexpr int64_t kMaxDirectRows = 64;

int64_t TileScratchFloatsTarget() { return kTileWeights * (kSumsStride + kWideStride); }

// y[t][o] = sums[o][t], with the factors and terms that the options request.
HWY_ATTR void StoreTile(const float* sums, View y, const MatMulOptions& options, int64_t begin,
                        int64_t rows) {
  const int64_t T = y.rows;
  int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d4;
  for (; r + 4 <= rows; r += 4) {
    const int64_t o = begin + r;
    const auto bias = options.bias ? hn::LoadU(d4, options.bias + o) : hn::Zero(d4);
    const auto scale = options.scale ? hn::LoadU(d4, options.scale + o) : hn::Zero(d4);  // used only if given
    int64_t t = 0;
    for (; t + 4 <= T; t += 4) {
      Transpose4x4(sums + r * kSumsStride + t, kSumsStride, [&](int64_t i, auto v) HWY_ATTR {
        float* out = y.Row(t + i) + o;
        if (options.scale) v = hn::Mul(v, scale);
        v = hn::Add(v, bias);
        hn::StoreU(options.accumulate ? hn::Add(v, hn::LoadU(d4, out)) : v, d4, out);
      });
    }
    for (; t < T; ++t) {
      for (int64_t i = 0; i < 4; ++i) StoreDot(sums[(r + i) * kSumsStride + t], y, options, t, o + i);
    }
  }
#endif
  for (; r < rows; ++r) {
    for (int64_t t = 0; t < T; ++t) StoreDot(sums[r * kSumsStride + t], y, options, t, begin + r);
  }
}

HWY_ATTR void MatMulTileTarget(const float* packed, WeightView w, View y, const MatMulOptions& options,
                               int64_t begin, int64_t end, float* scratch) {
  const D d;
  const int64_t T = y.rows, K = w.cols, row_bytes = w.RowBytes();
  float* wide = scratch + kTileWeights * kSumsStride;
  const bool few = T <= kMaxDirectRows, direct = few && w.dtype == DType::kF32;
  const std::byte* w_end = w.data + w.rows * row_bytes;
  // With few rows of x a group of weights is widened into the L1 cache just before its use; with many rows
  // all weights of the tile, so that they share a panel.
  const int64_t group = few ? kMaxSumRows : kTileWeights;
  for (int64_t o = begin; o < end; o += group) {
    const int64_t rows = std::min(group, end - o);
    float* sums = scratch + (o - begin) * kSumsStride;
    for (int64_t k = 0; k < K; k += kTileDepth) {
      const int64_t depth = std::min(kTileDepth, K - k);
      const std::byte* piece = w.Row(o) + k * 4;
      int64_t piece_stride = row_bytes;
      if (!direct) {
        DispatchType(w.dtype, [&](auto type) HWY_ATTR {
          for (int64_t r = 0; r < rows; ++r) {
            WidenRow(d, StoredRow<type()>{w.Row(o + r)}, k, depth, wide + r * kWideStride);
          }
        });
        piece = reinterpret_cast<const std::byte*>(wide);
        piece_stride = kWideStride * 4;
      }
      // The first panel also prefetches the weights needed next: the following piece of these rows or the
      // first piece of the following rows, whoever will multiply them.
      NextRows next = {.stride = row_bytes, .step = kFetchStep * row_bytes / K};
      if (k + depth < K) {
        next.w = w.Row(o) + (k + depth) * row_bytes / K;
      } else if (o + rows < w.rows) {
        next.w = w.Row(o + rows);
      }
      for (int64_t t = 0; t < T; t += PanelRowsTarget(), next = {}) {
        const int64_t width = PanelWidth(std::min(PanelRowsTarget(), T - t));
        const float* panel = packed + t * K + k * width;
        if (width == NumLanes()) {
          TilePanel<1>(piece, piece_stride, rows, panel, depth, k == 0, sums + t, kSumsStride, next, w_end);
        } else {
          TilePanel<2>(piece, piece_stride, rows, panel, depth, k == 0, sums + t, kSumsStride, next, w_end);
        }
      }
    }
  }
  StoreTile(scratch, y, options, begin, end - begin);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(MaxDotRowsTarget);
HWY_EXPORT(MatMulDotsTarget);
HWY_EXPORT(PanelRowsTarget);
HWY_EXPORT(PackedFloatsTarget);
HWY_EXPORT(PackPanelTarget);
HWY_EXPORT(PackColumnsTarget);
HWY_EXPORT(TransposeRowsTarget);
HWY_EXPORT(TileScratchFloatsTarget);
HWY_EXPORT(MatMulTileTarget);
}  // namespace

int64_t MaxDotRows() { return HWY_DYNAMIC_DISPATCH(MaxDotRowsTarget)(); }
void MatMulDots(ConstView x, WeightView w, View y, const MatMulOptions& options, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(MatMulDotsTarget)(x, w, y, options, begin, end);
}
int64_t PanelRows() { return HWY_DYNAMIC_DISPATCH(PanelRowsTarget)(); }
int64_t PackedFloats(int64_t T, int64_t K) { return HWY_DYNAMIC_DISPATCH(PackedFloatsTarget)(T, K); }
void PackColumns(ConstView x, float* packed) { HWY_DYNAMIC_DISPATCH(PackColumnsTarget)(x, packed); }
void PackPanel(ConstView x, int64_t panel, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackPanelTarget)(x, panel, packed);
}
void TransposeRows(ConstView in, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(TransposeRowsTarget)(in, out, stride);
}
int64_t TileScratchFloats() { return HWY_DYNAMIC_DISPATCH(TileScratchFloatsTarget)(); }
void MatMulTile(const float* packed, WeightView w, View y, const MatMulOptions& options, int64_t begin,
                int64_t end, float* scratch) {
  HWY_DYNAMIC_DISPATCH(MatMulTileTarget)(packed, w, y, options, begin, end, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
