#include "model/shared_block.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/rope.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/rows/gather.h"
#include "kernels/rows/gelu_gate.h"
#include "model/block_views.h"
#include "model/shared_block_views.h"

namespace ghost {
namespace {

// y = x W^T, plus the adapter's part if there is one.
void Project(ConstView x, const Tensor& weight, const float* bias, const AdapterWeights& adapter, View low,
             View y) {
  MatMul(x, WeightView(weight), y, {.bias = bias});
  if (adapter.down.empty()) return;
  MatMul(x, WeightView(adapter.down), low);                      // (T, rank)
  MatMul(low, WeightView(adapter.up), y, {.accumulate = true});  // (T, outputs)
}

void Join(ConstView hidden, ConstView embedded, View joined) {
  const int64_t M = hidden.cols;
  const auto join = [&](int64_t t) {
    std::copy_n(hidden.Row(t), M, joined.Row(t));
    std::copy_n(embedded.Row(t), M, joined.Row(t) + M);
  };
  ParallelFor(hidden.rows, join, /*work=*/hidden.rows * 2 * M);
}

void Attend(const SharedBlock& b, std::span<const AttentionSequence> sequences,
            const SharedActivations& act) {
  if (b.dims.rope_theta > 0) {
    const std::vector<int64_t> positions = PositionsOf(sequences, act.q.rows);
    ApplyRope(positions, b.dims.head_dim, b.dims.rope_theta, act.q);
    ApplyRope(positions, b.dims.head_dim, b.dims.rope_theta, act.k);
  }
  CausalAttention(ShapeOf(b.dims), act.q, act.k, act.v, SpansOf(sequences), act.attended);
  for (const AttentionSequence& s : sequences) {
    if (s.own) s.own->Append(act.k.Rows(s.begin, s.length), act.v.Rows(s.begin, s.length));
  }
}

}  // namespace

SharedBlock MakeSharedBlock(const SharedBlockWeights& w, const ModelConfig& config) {
  SharedBlock b;
  b.dims = config.shared;
  b.d_model = config.d_model;
  b.eps = config.norm_eps;
  b.q = w.q, b.k = w.k, b.v = w.v, b.out = w.out, b.gate_up = w.gate_up, b.down = w.down;
  b.input_norm = ToFloats(w.input_norm);
  b.mlp_norm = ToFloats(w.mlp_norm);
  b.gate_up_bias = OptionalFloats(w.gate_up_bias);
  b.down_bias = OptionalFloats(w.down_bias);
  return b;
}

SharedActivations SharedMemory::Activations(const SharedBlock& block, int64_t rows) {
  const SharedBlockDims& d = block.dims;
  const int64_t M = block.d_model, F = d.mlp_width;
  SharedActivations act;
  act.joined = Grow(joined_, rows, 2 * M);
  act.normed = Grow(normed_, rows, 2 * M);
  act.q = Grow(q_, rows, d.query_width());
  act.k = Grow(k_, rows, d.kv_width());
  act.v = Grow(v_, rows, d.kv_width());
  act.attended = Grow(attended_, rows, d.query_width());
  act.projected = Grow(projected_, rows, M);
  act.mlp_normed = Grow(mlp_normed_, rows, M);
  act.gate_up = Grow(gate_up_, rows, 2 * F);
  act.gated = Grow(gated_, rows, F);
  act.mlp_out = Grow(mlp_out_, rows, M);
  act.low = Grow(low_, rows, d.adapter_rank);
  return act;
}

void ForwardShared(const SharedBlock& b, const HybridWeights& own, ConstView hidden, ConstView embedded,
                   std::span<const AttentionSequence> sequences, const SharedActivations& act, View input) {
  const int64_t M = b.d_model;
  Join(hidden, embedded, act.joined);                           // (T, 2M)
  RmsNorm(act.joined, b.input_norm.data(), b.eps, act.normed);  // (T, 2M)
  Project(act.normed, b.q, nullptr, own.q, act.low, act.q);     // (T, heads d)
  Project(act.normed, b.k, nullptr, own.k, act.low, act.k);
  Project(act.normed, b.v, nullptr, own.v, act.low, act.v);
  Attend(b, sequences, act);                                         // (T, heads d)
  MatMul(act.attended, WeightView(b.out), act.projected);            // (T, M)
  RmsNorm(act.projected, b.mlp_norm.data(), b.eps, act.mlp_normed);  // (T, M)
  Project(act.mlp_normed, b.gate_up, DataOrNull(b.gate_up_bias), own.gate_up, act.low,
          act.gate_up);                                                                   // (T, 2F)
  GeluGate(act.gate_up, act.gated);                                                       // (T, F)
  MatMul(act.gated, WeightView(b.down), act.mlp_out, {.bias = DataOrNull(b.down_bias)});  // (T, M)
  CopyRows(act.joined.Cols(0, M), input);
  MatMul(act.mlp_out, WeightView(own.link), input, {.accumulate = true});  // (T, M)
}

}  // namespace ghost
