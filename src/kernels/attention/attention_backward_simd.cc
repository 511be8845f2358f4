// The vectorised gradient of attention. The outer loop runs over blocks of keys, the inner loop over blocks
// of queries: keys and values are transposed once, and a block's dk and dv stay in the L1 and L2 caches while
// all queries that see it are processed. Both kinds of blocks have the same length, so only blocks with equal
// numbers lie on the diagonal.
#include "kernels/attention/attention_backward_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include "kernels/attention/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

struct BackwardScratch {
  HWY_INLINE BackwardScratch(int d, int group, int64_t length, float* scratch) {
    const int64_t block = kKeys * RowStride(d), transposed = int64_t{d} * kScoreRow;
    keys = scratch, dkeys = keys + block, dvalues = dkeys + block;
    queries = dvalues + block, dout = queries + block, dqueries = dout + block;
    transposed_keys = dqueries + block, transposed_values = transposed_keys + transposed;
    p = transposed_values + transposed, ds = p + kKeys * kScoreRow;
    max = ds + kKeys * kScoreRow, sum = max + group * length, mean = sum + group * length;
  }
  float *keys, *dkeys, *dvalues;               // (kKeys, row)
  float *queries, *dout, *dqueries;            // likewise; queries times scale
  float *transposed_keys, *transposed_values;  // (d, kScoreRow)
  float *p, *ds;                               // (kKeys, kScoreRow): a row per query
  float *max, *sum, *mean;                     // (group, length): of scores, of exponentials, dout . out
};

int64_t AttentionBackwardScratchFloatsTarget(int d, int group, int64_t length) {
  return 6 * kKeys * RowStride(d) + 2 * (int64_t{d} + kKeys) * kScoreRow + 3 * group * length;
}

// A pair of blocks: queries and keys.
struct BlockPair {
  int64_t query, key;  // first rows
  int rows, count;
  bool diagonal() const { return query == key; }
  int Seen(int i) const { return diagonal() ? i + 1 : count; }
};

// p = scale q . k; also copies the head's queries.
HWY_INLINE void Scores(const AttentionHeadBackward& in, const BlockPair& pair, int head,
                       const BackwardScratch& buf) {
  const int64_t row = RowStride(in.d);
  CopyRows(in.q.Row(pair.query) + int64_t{head} * in.d, in.q.stride, pair.rows, in.d, in.scale, buf.queries);
  BlockProduct({pair.rows, Padded(pair.count), in.d, pair.diagonal() ? Triangle::kResult : Triangle::kNone},
               {buf.queries, row, 1}, buf.transposed_keys, kScoreRow, buf.p, kScoreRow);
}

// Converts a query's scores p and dp = dout . v to probabilities and ds = p (dp - mean), with zeros for the
// keys it does not see.
HWY_INLINE void Probabilities(float* HWY_RESTRICT p, float* HWY_RESTRICT ds, int seen, int width, float max,
                              float inverse_sum, float mean) {
  const D d;
  const int count = Padded(seen);
  HideUnseen(p, seen);
  std::fill(ds + seen, ds + count, 0.0f);
  for (int s = 0; s < count; s += NumLanes()) {
    const V e = ExpScore(hn::Sub(hn::Load(d, p + s), hn::Set(d, max)));
    const V probability = hn::Mul(e, hn::Set(d, inverse_sum));
    hn::Store(probability, d, p + s);
    hn::Store(hn::Mul(probability, hn::Sub(hn::Load(d, ds + s), hn::Set(d, mean))), d, ds + s);
  }
  if (count < width) std::fill(p + count, p + width, 0.0f), std::fill(ds + count, ds + width, 0.0f);
}

// Adds a pair's contributions to all three gradients.
HWY_INLINE void PairGradients(const AttentionHeadBackward& in, const BlockPair& pair, int head,
                              const BackwardScratch& buf) {
  const int d = in.d, rows = pair.rows, count = pair.count, width = Padded(count);
  const int64_t row = RowStride(d), column = int64_t{head} * d, stat = head * in.q.rows + pair.query;
  const bool diagonal = pair.diagonal();
  Scores(in, pair, head, buf);
  CopyRows(in.dout.Row(pair.query) + column, in.dout.stride, rows, d, 1.0f, buf.dout);
  BlockProduct({rows, width, d, diagonal ? Triangle::kResult : Triangle::kNone}, {buf.dout, row, 1},
               buf.transposed_values, kScoreRow, buf.ds, kScoreRow);
  for (int i = 0; i < rows; ++i) {
    Probabilities(buf.p + i * kScoreRow, buf.ds + i * kScoreRow, pair.Seen(i), width, buf.max[stat + i],
                  1.0f / buf.sum[stat + i], buf.mean[stat + i]);
  }
  const Triangle left = diagonal ? Triangle::kLeft : Triangle::kNone;
  const Triangle transposed = diagonal ? Triangle::kLeftTransposed : Triangle::kNone;
  BlockProduct({count, Padded(d), rows, transposed, /*add=*/true}, {buf.p, 1, kScoreRow}, buf.dout, row,
               buf.dvalues, row);
  BlockProduct({count, Padded(d), rows, transposed, /*add=*/true}, {buf.ds, 1, kScoreRow}, buf.queries, row,
               buf.dkeys, row);
  BlockProduct({rows, Padded(d), count, left}, {buf.ds, kScoreRow, 1}, buf.keys, row, buf.dqueries, row);
  for (int i = 0; i < rows; ++i) {  // every query starts with the first block of keys
    AddRow(buf.dqueries + i * row, in.scale, d, /*add=*/pair.key > 0, in.dq.Row(pair.query + i) + column);
  }
}

// Calls body(pair, head) for all queries that see the block of keys that begins at `key`.
template <class Body>
HWY_INLINE void ForEachPair(const AttentionHeadBackward& in, int64_t key, const Body& body) {
  const auto rows = [&](int64_t begin) {
    return static_cast<int>(std::min<int64_t>(kKeys, in.q.rows - begin));
  };
  for (int head = 0; head < in.group; ++head) {
    for (int64_t query = key; query < in.q.rows; query += kKeys)
      body(BlockPair{query, key, rows(query), rows(key)}, head);
  }
}

// Recomputes the maxima and sums, which the forward pass did not keep, and dout . out.
HWY_INLINE void RowStatistics(const AttentionHeadBackward& in, const BackwardScratch& buf) {
  const int64_t L = in.q.rows;
  std::fill_n(buf.max, in.group * L, kNegInfinity);
  std::fill_n(buf.sum, in.group * L, 0.0f);
  for (int64_t key = 0; key < L; key += kKeys) {
    TransposePadded(in.k.Row(key), in.k.stride, static_cast<int>(std::min<int64_t>(kKeys, L - key)), in.d,
                    buf.transposed_keys);
    ForEachPair(in, key, [&](const BlockPair& pair, int head) HWY_ATTR {
      Scores(in, pair, head, buf);
      for (int i = 0; i < pair.rows; ++i) {
        const int64_t stat = head * L + pair.query + i;
        AbsorbScores(buf.p + i * kScoreRow, pair.Seen(i), /*width=*/0, buf.max[stat], buf.sum[stat]);
      }
    });
  }
  for (int head = 0; head < in.group; ++head) {
    const int64_t column = int64_t{head} * in.d;
    for (int64_t t = 0; t < L; ++t) {
      Dots<1>(in.dout.Row(t) + column, in.out.Row(t) + column, /*stride=*/0, in.d, buf.mean + head * L + t);
    }
  }
}

HWY_ATTR void AttentionBackwardTarget(const AttentionHeadBackward& in, float* scratch) {
  const int64_t L = in.q.rows, row = RowStride(in.d);
  const BackwardScratch buf(in.d, in.group, L, scratch);
  RowStatistics(in, buf);
  for (int64_t key = 0; key < L; key += kKeys) {
    const int count = static_cast<int>(std::min<int64_t>(kKeys, L - key));
    TransposePadded(in.k.Row(key), in.k.stride, count, in.d, buf.transposed_keys);
    TransposePadded(in.v.Row(key), in.v.stride, count, in.d, buf.transposed_values);
    CopyRows(in.k.Row(key), in.k.stride, count, in.d, 1.0f, buf.keys);
    std::fill_n(buf.dkeys, kKeys * row, 0.0f);
    std::fill_n(buf.dvalues, kKeys * row, 0.0f);
    ForEachPair(in, key,
                [&](const BlockPair& pair, int head) HWY_ATTR { PairGradients(in, pair, head, buf); });
    for (int s = 0; s < count; ++s) {
      std::copy_n(buf.dkeys + s * row, in.d, in.dk.Row(key + s));
      std::copy_n(buf.dvalues + s * row, in.d, in.dv.Row(key + s));
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(AttentionBackwardScratchFloatsTarget);
HWY_EXPORT(AttentionBackwardTarget);
}  // namespace

int64_t AttentionBackwardScratchFloats(int d, int group, int64_t length) {
  return HWY_DYNAMIC_DISPATCH(AttentionBackwardScratchFloatsTarget)(d, group, length);
}
void AttentionBackward(const AttentionHeadBackward& in, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttentionBackwardTarget)(in, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
