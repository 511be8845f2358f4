#include "kernels/attention/attention.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "kernels/attention/attention_simd.h"
#include "kernels/row_tasks.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

// A single token attends to its past and itself, split into parts. The split depends on the
// length of the past alone.
int64_t NumParts(const AttentionSpan& sequence) { return CeilDiv(sequence.past + 1, kAttentionPart); }

// For a single token: the part that starts at key `first`, whose result is number `index`. For more tokens:
// query head `index`, rows from `first` on.
struct Piece {
  const AttentionSpan* sequence;
  int64_t first, index;
};

std::vector<Piece> PiecesOf(const AttentionShape& shape, std::span<const AttentionSpan> sequences) {
  std::vector<Piece> pieces;
  int64_t parts = 0;
  for (const AttentionSpan& sequence : sequences) {
    if (sequence.length == 1) {
      for (int64_t part = 0; part < NumParts(sequence); ++part)
        pieces.push_back({&sequence, part * kAttentionPart, parts++});
      continue;
    }
    // Ordered by head, so that a head's keys and values stay in the outer caches. The last rows see the most
    // keys; starting with them avoids ending on a long piece.
    for (int h = 0; h < shape.heads; ++h) {
      for (int64_t block = CeilDiv(sequence.length, kAttentionQueries) - 1; block >= 0; --block)
        pieces.push_back({&sequence, block * kAttentionQueries, h});
    }
  }
  return pieces;
}

// The arguments of CausalAttention.
struct Batch {
  AttentionShape shape;
  ConstView q, k, v;
  View out;
  int Group() const { return shape.heads / shape.kv_heads; }
  int64_t ResultFloats() const { return PartFloats(shape.head_dim, shape.heads); }
};

void Check(const Batch& in, std::span<const AttentionSpan> sequences) {
  const AttentionShape& shape = in.shape;
  GHOST_CHECK(shape.head_dim >= 1 && shape.kv_heads >= 1 && shape.heads % shape.kv_heads == 0);
  const int64_t T = in.q.rows, wide = int64_t{shape.heads} * shape.head_dim;
  GHOST_CHECK(in.q.cols == wide && in.out.rows == T && in.out.cols == wide);
  for (const ConstView view : {in.k, in.v})
    GHOST_CHECK(view.rows == T && view.cols == wide / shape.heads * shape.kv_heads);
  for (const AttentionSpan& s : sequences) {
    GHOST_CHECK(s.begin >= 0 && s.length >= 0 && s.begin + s.length <= T);
    GHOST_CHECK(s.past == 0 || (s.past > 0 && s.past_keys && s.past_values));
  }
}

// The rows from a column on; for the past, also from one of its rows on.
AttentionRows RowsOf(const AttentionSpan& sequence, const float* past, ConstView all, int64_t column,
                     int64_t past_row) {
  return {past ? past + past_row * all.cols + column : nullptr, all.cols, all.Row(sequence.begin) + column,
          all.stride};
}

void RunPart(const Batch& batch, const Piece& piece, float* results) {
  const AttentionShape& shape = batch.shape;
  const AttentionSpan& s = *piece.sequence;
  const AttentionPart in = {.d = shape.head_dim,
                            .kv_heads = shape.kv_heads,
                            .group = batch.Group(),
                            .scale = shape.scale,
                            .past = std::min<int64_t>(kAttentionPart, s.past - piece.first),
                            .last = piece.first + kAttentionPart > s.past,
                            .q = batch.q.Row(s.begin),
                            .keys = RowsOf(s, s.past_keys, batch.k, 0, piece.first),
                            .values = RowsOf(s, s.past_values, batch.v, 0, piece.first),
                            .result = results + piece.index * batch.ResultFloats()};
  AttendPart(in, ThreadScratch(0, AttendPartScratchFloats(shape.head_dim, shape.heads)));
}

void RunBlock(const Batch& batch, const Piece& piece) {
  const AttentionSpan& s = *piece.sequence;
  const int d = batch.shape.head_dim;
  const int64_t column = piece.index / batch.Group() * d, query = piece.index * d,
                row = s.begin + piece.first;
  const AttentionBlock in = {
      .d = d,
      .scale = batch.shape.scale,
      .past = s.past,
      .first = piece.first,
      .rows = static_cast<int>(std::min<int64_t>(kAttentionQueries, s.length - piece.first)),
      .q = batch.q.Row(row) + query,
      .q_stride = batch.q.stride,
      .keys = RowsOf(s, s.past_keys, batch.k, column, 0),
      .values = RowsOf(s, s.past_values, batch.v, column, 0),
      .out = batch.out.Row(row) + query,
      .out_stride = batch.out.stride};
  AttendBlock(in, ThreadScratch(0, AttendBlockScratchFloats(d)));
}

}  // namespace

void CausalAttention(const AttentionShape& shape, ConstView q, ConstView k, ConstView v,
                     std::span<const AttentionSpan> sequences, View out) {
  const Batch batch = {shape, q, k, v, out};
  Check(batch, sequences);
  int64_t parts = 0, pairs = 0;  // pairs of a query and a key
  for (const AttentionSpan& s : sequences) {
    parts += s.length == 1 ? NumParts(s) : 0;
    pairs += s.length * (s.past + s.length);
  }
  float* results = ThreadScratch(kPartsSlot, parts * batch.ResultFloats());
  const std::vector<Piece> pieces = PiecesOf(shape, sequences);
  const auto run = [&](int64_t i) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    piece.sequence->length == 1 ? RunPart(batch, piece, results) : RunBlock(batch, piece);
  };
  ParallelFor(static_cast<int64_t>(pieces.size()), run, /*work=*/pairs * q.cols);
  // One result per 128 keys: too little to share among threads.
  for (const AttentionSpan& s : sequences) {
    if (s.length != 1) continue;
    MergeParts(results, NumParts(s), shape.head_dim, shape.heads, out.Row(s.begin));
    results += NumParts(s) * batch.ResultFloats();
  }
}

}  // namespace ghost
