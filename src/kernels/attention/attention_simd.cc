// Vectorised attention, with two loops over the keys. A block of queries transposes every block of keys once
// and then runs small matrix products. For a single token the transposition would cost more than the
// products, so it computes dot products with the rows as stored, all heads side by side, and memory is read
// once and in order. Its work is split along the keys; strips of two heads reached only 60 % of the speed.
#include "kernels/attention/attention_simd.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include "kernels/attention/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// Calls body(keys, values, count, s, is_past) for every block of keys: rows [s, s + count) of the past, then
// of the sequence up to `end`.
template <class Body>
HWY_INLINE void ForEachKeyBlock(const AttentionRows& keys, const AttentionRows& values, int64_t past,
                                int64_t end, const Body& body) {
  for (int64_t s = 0; s < past; s += kKeys) {
    body(keys.past + s * keys.past_stride, values.past + s * values.past_stride,
         static_cast<int>(std::min<int64_t>(kKeys, past - s)), s, /*is_past=*/true);
  }
  for (int64_t s = 0; s < end; s += kKeys) {
    body(keys.rows + s * keys.stride, values.rows + s * values.stride,
         static_cast<int>(std::min<int64_t>(kKeys, end - s)), s, /*is_past=*/false);
  }
}

// ---- A block of queries

struct BlockScratch {
  HWY_INLINE BlockScratch(int d, float* scratch) {
    const int64_t row = RowStride(d);
    q = scratch;
    out = q + kAttentionQueries * row;
    values = out + kAttentionQueries * row;
    transposed_keys = values + kKeys * row;
    scores = transposed_keys + int64_t{d} * kScoreRow;
  }
  float *q, *out;          // (kAttentionQueries, row), out: sums of values relative to the maximum
  float* values;           // (kKeys, row)
  float* transposed_keys;  // (d, kScoreRow)
  float* scores;           // (kAttentionQueries, kScoreRow)
  float max[kAttentionQueries], sum[kAttentionQueries];
};

int64_t AttendBlockScratchFloatsTarget(int d) {
  return (2 * kAttentionQueries + kKeys) * RowStride(d) + (int64_t{d} + kAttentionQueries) * kScoreRow;
}

// Processes `count` keys for the queries from `skip` on; on the diagonal, query skip + i sees only the
// first i + 1 of them.
HWY_INLINE void AbsorbBlock(int d, int skip, int rows, int count, bool diagonal, BlockScratch& buf) {
  const int64_t row = RowStride(d);
  const int width = Padded(count);
  rows -= skip;
  BlockProduct({rows, width, d, diagonal ? Triangle::kResult : Triangle::kNone}, {buf.q + skip * row, row, 1},
               buf.transposed_keys, kScoreRow, buf.scores, kScoreRow);
  for (int i = 0; i < rows; ++i) {
    const int seen = diagonal ? std::min(i + 1, count) : count;
    const float factor =
        AbsorbScores(buf.scores + i * kScoreRow, seen, width, buf.max[skip + i], buf.sum[skip + i]);
    float* sums = buf.out + (skip + i) * row;
    if (factor != 1.0f) ScaleRow(sums, factor, Padded(d), sums);
  }
  BlockProduct({rows, Padded(d), count, diagonal ? Triangle::kLeft : Triangle::kNone, /*add=*/true},
               {buf.scores, kScoreRow, 1}, buf.values, row, buf.out + skip * row, row);
}

// The copied queries already include the scale. The division by the sum of exponentials comes last.
HWY_ATTR void AttendBlockTarget(const AttentionBlock& in, float* scratch) {
  static_assert(kAttentionQueries % kKeys == 0);  // blocks on the diagonal begin there
  const int d = in.d;
  const int64_t row = RowStride(d);
  BlockScratch buf(d, scratch);
  std::fill_n(buf.out, kAttentionQueries * row, 0.0f);
  std::fill_n(buf.max, kAttentionQueries, kNegInfinity);
  std::fill_n(buf.sum, kAttentionQueries, 0.0f);
  CopyRows(in.q, in.q_stride, in.rows, d, in.scale, buf.q);
  ForEachKeyBlock(
      in.keys, in.values, in.past, in.first + in.rows,
      [&](const float* keys, const float* values, int count, int64_t s, bool is_past) HWY_ATTR {
        TransposePadded(keys, is_past ? in.keys.past_stride : in.keys.stride, count, d, buf.transposed_keys);
        CopyRows(values, is_past ? in.values.past_stride : in.values.stride, count, d, 1.0f, buf.values);
        const bool diagonal = !is_past && s >= in.first;
        AbsorbBlock(d, diagonal ? static_cast<int>(s - in.first) : 0, in.rows, count, diagonal, buf);
      });
  for (int i = 0; i < in.rows; ++i) {
    ScaleRow(buf.out + i * row, 1.0f / buf.sum[i], d, in.out + i * in.out_stride);
  }
}

// ---- One token

// sums += weights[j] * value j over kCount values.
template <int kCount>
HWY_INLINE void AddValues(const float* HWY_RESTRICT weights, const float* HWY_RESTRICT values, int64_t stride,
                          int dim, float* HWY_RESTRICT sums) {
  static_assert(kCount == 1 || kCount == 4);
  const D d;
  const int L = NumLanes();
  const V w0 = hn::Set(d, weights[0]), w1 = hn::Set(d, weights[kCount > 1 ? 1 : 0]);
  const V w2 = hn::Set(d, weights[kCount > 1 ? 2 : 0]), w3 = hn::Set(d, weights[kCount > 1 ? 3 : 0]);
  int i = 0;
  for (; i + L <= dim; i += L) {
    V sum = hn::MulAdd(w0, hn::LoadU(d, values + i), hn::LoadU(d, sums + i));
    if constexpr (kCount == 4) {
      sum = hn::MulAdd(w1, hn::LoadU(d, values + stride + i), sum);
      sum = hn::MulAdd(w2, hn::LoadU(d, values + 2 * stride + i), sum);
      sum = hn::MulAdd(w3, hn::LoadU(d, values + 3 * stride + i), sum);
    }
    hn::StoreU(sum, d, sums + i);
  }
  for (; i < dim; ++i) {
    for (int j = 0; j < kCount; ++j) sums[i] += weights[j] * values[j * stride + i];
  }
}

// Calls body(compile-time number of rows, first row) over `count` rows, four at a time.
template <class Body>
HWY_INLINE void ForFourRows(int count, const Body& body) {
  int s = 0;
  for (; s + 4 <= count; s += 4) body(std::integral_constant<int, 4>(), s);
  for (; s < count; ++s) body(std::integral_constant<int, 1>(), s);
}

int64_t AttendPartScratchFloatsTarget(int d, int heads) { return int64_t{heads} * (kScoreRow + d); }

// Three passes over a block of keys: all scores, row by row; softmax; all values, row by row.
HWY_ATTR void AttendPartTarget(const AttentionPart& in, float* scratch) {
  const int d = in.d, heads = in.kv_heads * in.group;
  float *scores = scratch, *q = scores + int64_t{heads} * kScoreRow;  // (heads, kScoreRow), (heads, d)
  float *sums = in.result, *max = sums + int64_t{heads} * d, *sum = max + heads;
  ScaleRow(in.q, in.scale, heads * d, q);
  std::fill_n(sums, heads * d, 0.0f);
  std::fill_n(max, heads, kNegInfinity);
  std::fill_n(sum, heads, 0.0f);
  const auto absorb = [&](const float* keys, const float* values, int count, int64_t /*s*/,
                          bool is_past) HWY_ATTR {
    const int64_t key_stride = is_past ? in.keys.past_stride : in.keys.stride;
    const int64_t value_stride = is_past ? in.values.past_stride : in.values.stride;
    ForFourRows(count, [&](auto rows, int s) HWY_ATTR {
      for (int h = 0; h < heads; ++h) {
        const float* first = keys + s * key_stride + int64_t{h / in.group} * d;
        Dots<decltype(rows)::value>(q + h * d, first, key_stride, d, scores + h * kScoreRow + s);
      }
    });
    for (int h = 0; h < heads; ++h) {
      const float factor = AbsorbScores(scores + h * kScoreRow, count, count, max[h], sum[h]);
      if (factor != 1.0f) ScaleRow(sums + h * d, factor, d, sums + h * d);
    }
    ForFourRows(count, [&](auto rows, int s) HWY_ATTR {
      for (int h = 0; h < heads; ++h) {
        const float* first = values + s * value_stride + int64_t{h / in.group} * d;
        AddValues<decltype(rows)::value>(scores + h * kScoreRow + s, first, value_stride, d, sums + h * d);
      }
    });
  };
  ForEachKeyBlock(in.keys, in.values, in.past, /*end=*/in.last ? 1 : 0, absorb);
}

// Each part's sums are relative to its own maximum; this rescales them to the largest one.
HWY_ATTR void MergePartsTarget(const float* results, int64_t parts, int d, int heads, float* out) {
  const int64_t stride = PartFloats(d, heads), to_max = int64_t{heads} * d, to_sum = to_max + heads;
  for (int h = 0; h < heads; ++h, out += d) {
    float max = kNegInfinity, sum = 0;
    for (int64_t i = 0; i < parts; ++i) max = std::max(max, results[i * stride + to_max + h]);
    for (int64_t i = 0; i < parts; ++i) {
      const float* part = results + i * stride;
      const float factor = std::exp(part[to_max + h] - max);
      sum += factor * part[to_sum + h];
      AddRow(part + int64_t{h} * d, factor, d, /*add=*/i > 0, out);
    }
    ScaleRow(out, 1.0f / sum, d, out);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(AttendBlockScratchFloatsTarget);
HWY_EXPORT(AttendBlockTarget);
HWY_EXPORT(AttendPartScratchFloatsTarget);
HWY_EXPORT(AttendPartTarget);
HWY_EXPORT(MergePartsTarget);
}  // namespace

int64_t AttendBlockScratchFloats(int d) { return HWY_DYNAMIC_DISPATCH(AttendBlockScratchFloatsTarget)(d); }
void AttendBlock(const AttentionBlock& in, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttendBlockTarget)(in, scratch);
}
int64_t AttendPartScratchFloats(int d, int heads) {
  return HWY_DYNAMIC_DISPATCH(AttendPartScratchFloatsTarget)(d, heads);
}
void AttendPart(const AttentionPart& in, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttendPartTarget)(in, scratch);
}
void MergeParts(const float* results, int64_t parts, int d, int heads, float* out) {
  HWY_DYNAMIC_DISPATCH(MergePartsTarget)(results, parts, d, heads, out);
}

}  // namespace ghost
#endif  // HWY_ONCE
