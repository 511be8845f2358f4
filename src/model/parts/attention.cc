#include "model/parts/attention.h"

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_backward.h"
#include "kernels/attention/rope.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

AttentionShape ShapeOf(const AttentionDims& d) { return {d.num_heads, d.num_kv_heads, d.head_dim, d.scale}; }

std::vector<AttentionSpan> SpansOf(std::span<const CachedSequence> sequences) {
  std::vector<AttentionSpan> spans;
  for (const CachedSequence& s : sequences) {
    AttentionSpan span{.begin = s.begin, .length = s.length};
    if (s.past) {
      span.past_keys = s.past->keys();
      span.past_values = s.past->values();
      span.past = s.past->tokens();
    }
    spans.push_back(span);
  }
  return spans;
}

// Of every row of the batch in its sequence.
std::vector<int64_t> PositionsOf(std::span<const CachedSequence> sequences, int64_t rows) {
  std::vector<int64_t> positions(static_cast<size_t>(rows));
  for (const CachedSequence& s : sequences) {
    const int64_t first = s.past ? s.past->tokens() : 0;
    for (int64_t t = 0; t < s.length; ++t) positions[static_cast<size_t>(s.begin + t)] = first + t;
  }
  return positions;
}

struct AttentionViews {
  View q, k, v, attended;
};

RopeShape RopeOf(const AttentionDims& d) { return {d.head_dim, d.rotated, d.rope_theta, d.rope_pairs}; }

AttentionViews ViewMemory(const AttentionDims& d, int64_t rows, AttentionMemory& memory) {
  return {Grow(memory.q, rows, d.query_width()), Grow(memory.k, rows, d.kv_width()),
          Grow(memory.v, rows, d.kv_width()), Grow(memory.attended, rows, d.query_width())};
}

}  // namespace

PartCost CostOf(const AttentionDims& d) {
  const double M = d.d_model, in = d.d_input, Q = d.query_width(), KV = d.kv_width();
  return {.macs = in * (Q + 2 * KV) + Q * M, .pair_macs = 2 * Q};
}

Attention MakeAttention(const AttentionDims& d, const AttentionWeights& w) {
  return {.dims = d,
          .q = MakeLinear(w.q, w.q_bias, d.in_factor),
          .k = MakeLinear(w.k, w.k_bias, d.in_factor * d.key_factor, d.key_factor),
          .v = MakeLinear(w.v, w.v_bias, d.in_factor),
          .out = MakeScaledLinear(w.out, w.out_bias, d.out_factor)};
}

ConstView Attend(const Attention& a, const AttentionAdapters& adapters, ConstView input,
                 std::span<const CachedSequence> sequences, AttentionMemory& memory) {
  const AttentionDims& d = a.dims;
  const AttentionViews act = ViewMemory(d, input.rows, memory);
  Project(input, a.q, adapters.q, memory.adapters, act.q);  // (T, heads d)
  Project(input, a.k, adapters.k, memory.adapters, act.k);
  Project(input, a.v, adapters.v, memory.adapters, act.v);
  if (d.rope_theta > 0) {
    const std::vector<int64_t> positions = PositionsOf(sequences, input.rows);
    ApplyRope(positions, RopeOf(d), act.q);
    ApplyRope(positions, RopeOf(d), act.k);
  }
  CausalAttention(ShapeOf(d), act.q, act.k, act.v, SpansOf(sequences), act.attended);
  for (const CachedSequence& s : sequences) {
    if (s.own) s.own->Append(act.k.Rows(s.begin, s.length), act.v.Rows(s.begin, s.length));
  }
  return act.attended;
}

void AttendBackward(const Attention& a, const AttentionAdapters& adapters,
                    std::span<const CachedSequence> sequences, AttentionMemory& memory, ConstView dout,
                    AttentionBackwardMemory& scratch, View dinput) {
  const AttentionDims& d = a.dims;
  const int64_t T = dout.rows, Q = d.query_width(), KV = d.kv_width();
  const AttentionViews act = ViewMemory(d, T, memory);
  const View dattended = Grow(scratch.dattended, T, Q), dq = Grow(scratch.dq, T, Q);
  const View dk = Grow(scratch.dk, T, KV), dv = Grow(scratch.dv, T, KV);
  ApplyTransposed(a.out, dout, scratch.adapters.scaled, dattended);  // (T, heads d)
  CausalAttentionBackward(ShapeOf(d), {act.q, act.k, act.v, act.attended, dattended}, SpansOf(sequences),
                          {dq, dk, dv});
  if (d.rope_theta > 0) {
    const std::vector<int64_t> positions = PositionsOf(sequences, T);
    ApplyRopeBackward(positions, RopeOf(d), dq);
    ApplyRopeBackward(positions, RopeOf(d), dk);
  }
  AddUnprojected(dq, a.q, adapters.q, scratch.adapters, dinput);  // (T, inputs)
  AddUnprojected(dk, a.k, adapters.k, scratch.adapters, dinput);
  AddUnprojected(dv, a.v, adapters.v, scratch.adapters, dinput);
}

void AttentionPart::Fill(ConstView normed, const Pass& pass, Workspace& workspace) const {
  Attend(attention_, {}, normed, CachedSequences(pass.sequences, cache_), workspace.Get<AttentionMemory>());
}

void AttentionPart::AddOutput(View hidden, Workspace& workspace) const {
  const ConstView attended(workspace.Get<AttentionMemory>().attended.data(), hidden.rows,
                           attention_.dims.query_width());
  ApplyAccumulate(attention_.out, attended, hidden);  // (T, M)
}

void AttentionPart::Backward(ConstView, const BackwardCall& call, ConstView dhidden, View dnormed,
                             const ModelGradients&) const {
  ZeroRows(dnormed);
  AttendBackward(attention_, {}, CachedSequences(call.pass.sequences, cache_),
                 call.kept.Get<AttentionMemory>(), dhidden, call.scratch.Get<AttentionBackwardMemory>(),
                 dnormed);
}

}  // namespace ghost
