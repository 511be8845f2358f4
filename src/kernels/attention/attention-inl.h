// Blocks of keys and rows of scores, shared by attention and its gradient. For the SIMD sources of
// src/kernels; included once per instruction set.
#if defined(GHOST_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_ATTENTION_INL_H_
#undef GHOST_KERNELS_ATTENTION_INL_H_
#else
#define GHOST_KERNELS_ATTENTION_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/matmul/block_product-inl.h"
#include "kernels/simd/row_stride.h"
#include "kernels/simd/transpose-inl.h"
#include "kernels/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kKeys = 64;              // of a block
constexpr int kScoreRow = kKeys + 16;  // floats: not all rows in the same cache set
constexpr float kNegInfinity = -std::numeric_limits<float>::infinity();

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

HWY_INLINE int NumLanes() { return static_cast<int>(hn::Lanes(D())); }

// Row length of copies: a multiple of the vector length on every target. The padding is zero, so products
// need no code for leftover columns.
HWY_INLINE int Padded(int count) { return (count + 15) / 16 * 16; }

// to += or = factor * from, dim values.
HWY_INLINE void AddRow(const float* from, float factor, int dim, bool add, float* to) {
  if (!add) return ScaleRow(from, factor, dim, to);
  ForEachVector(dim, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, from + i), hn::LoadU(d, to + i)), d, to + i);
  });
}

// factor * rows of dim floats, padded.
HWY_INLINE void CopyRows(const float* from, int64_t stride, int rows, int dim, float factor, float* to) {
  for (int r = 0; r < rows; ++r, from += stride, to += RowStride(dim)) {
    ScaleRow(from, factor, dim, to);
    std::fill(to + dim, to + Padded(dim), 0.0f);
  }
}

// Transposes the right factor of the scores: (dim, kScoreRow), one column per row of `from`, padded.
HWY_INLINE void TransposePadded(const float* from, int64_t stride, int rows, int dim, float* to) {
  constexpr int kAtATime = 8;  // rows of a strided matrix may share very few L1 cache sets
  for (int r = 0; r < rows; r += kAtATime) {
    TransposeBlock(from + r * stride, stride, std::min(kAtATime, rows - r), dim, to + r, kScoreRow);
  }
  if (rows == Padded(rows)) return;
  for (int i = 0; i < dim; ++i) std::fill(to + i * kScoreRow + rows, to + i * kScoreRow + Padded(rows), 0.0f);
}

// scores[j] = q . key j for kCount keys, `stride` floats apart: every load of q serves all of them.
template <int kCount>
HWY_INLINE void Dots(const float* HWY_RESTRICT q, const float* HWY_RESTRICT keys, int64_t stride, int dim,
                     float* HWY_RESTRICT scores) {
  static_assert(kCount == 1 || kCount == 4);
  const D d;
  const int L = NumLanes();
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int i = 0;
  for (; i + L <= dim; i += L) {
    const V v = hn::LoadU(d, q + i);
    s0 = hn::MulAdd(v, hn::LoadU(d, keys + i), s0);
    if constexpr (kCount == 4) {
      s1 = hn::MulAdd(v, hn::LoadU(d, keys + stride + i), s1);
      s2 = hn::MulAdd(v, hn::LoadU(d, keys + 2 * stride + i), s2);
      s3 = hn::MulAdd(v, hn::LoadU(d, keys + 3 * stride + i), s3);
    }
  }
  scores[0] = hn::GetLane(hn::SumOfLanes(d, s0));
  if constexpr (kCount == 4) {
    scores[1] = hn::GetLane(hn::SumOfLanes(d, s1));
    scores[2] = hn::GetLane(hn::SumOfLanes(d, s2));
    scores[3] = hn::GetLane(hn::SumOfLanes(d, s3));
  }
  for (; i < dim; ++i) {
    for (int j = 0; j < kCount; ++j) scores[j] += q[i] * keys[j * stride + i];
  }
}

// exp(v) for v <= 0; 0 below -87, NaN stays NaN. Half the operations of Highway's Exp, which accepts any v:
// with v = k ln(2) + r, |r| <= ln(2) / 2, the result is 2^k times a polynomial of relative error 3e-9.
HWY_INLINE V ExpScore(V v) {
  const D d;
  const hn::RebindToSigned<D> di;
  const V low = hn::Set(d, -87.0f), magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: the sum's last bits are k
  const auto vanishes = hn::Lt(v, low);
  v = hn::IfThenElse(vanishes, low, v);
  const V sum = hn::MulAdd(v, hn::Set(d, 1.44269504f), magic), k = hn::Sub(sum, magic);
  V r = hn::MulAdd(k, hn::Set(d, -0.693145751953125f), v);  // few bits: the product is exact
  r = hn::MulAdd(k, hn::Set(d, -1.42860677e-6f), r);
  V q = hn::Set(d, 0.00138142204f);
  q = hn::MulAdd(q, r, hn::Set(d, 0.00836889911f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.0416684076f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.166665196f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.49999994f));
  q = hn::MulAdd(hn::Mul(r, r), q, hn::Add(r, hn::Set(d, 1.0f)));
  const auto exponent = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, sum)), hn::Set(di, 127 << 23));
  return hn::IfThenZeroElse(vanishes, hn::Mul(q, hn::BitCast(d, exponent)));
}

// Fills the last vector of a row of `seen` scores with values that change no result.
HWY_INLINE void HideUnseen(float* scores, int seen) {
  std::fill(scores + seen, scores + Padded(seen), kNegInfinity);
}

HWY_INLINE float MaxOfRow(const float* scores, int count) {
  const D d;
  V max = hn::Set(d, kNegInfinity);
  for (int s = 0; s < count; s += NumLanes()) {
    const V v = hn::Load(d, scores + s);
    max = hn::IfThenElse(hn::Gt(v, max), v, max);  // not Max(): its NaN differs between targets
  }
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

// Adds `seen` more scores to a query's running maximum and sum of exponentials, and replaces the scores by
// their exponentials relative to the new maximum, followed by zeros up to `width`. Returns the factor that
// rescales everything summed relative to the old maximum. Rows are aligned.
HWY_INLINE float AbsorbScores(float* scores, int seen, int width, float& max, float& sum) {
  const D d;
  const int count = Padded(seen);
  HideUnseen(scores, seen);
  const float new_max = std::max(max, MaxOfRow(scores, count));
  const float shift = new_max == kNegInfinity ? 0.0f : new_max;  // nothing finite yet: all exponentials are 0
  V total = hn::Zero(d);
  for (int s = 0; s < count; s += NumLanes()) {
    const V e = ExpScore(hn::Sub(hn::Load(d, scores + s), hn::Set(d, shift)));
    hn::Store(e, d, scores + s);
    total = hn::Add(total, e);
  }
  if (count < width) std::fill(scores + count, scores + width, 0.0f);
  const float factor = max == new_max ? 1.0f : std::exp(max - shift);
  sum = sum * factor + hn::GetLane(hn::SumOfLanes(d, total));
  max = new_max;
  return factor;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_ATTENTION_INL_H_
