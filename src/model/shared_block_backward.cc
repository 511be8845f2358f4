#include "model/shared_block_backward.h"

#include <algorithm>

#include "kernels/attention/attention_backward.h"
#include "kernels/attention/rope.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/norm/norm_backward.h"
#include "kernels/rows/gather.h"
#include "kernels/rows/gelu_gate.h"
#include "model/shared_block_views.h"

namespace ghost {
namespace {

// dx += dy W, plus the adapter's part.
void UnprojectAdd(ConstView dy, const Tensor& weight, const AdapterWeights& adapter,
                  SharedBackwardScratch& scratch, View dx) {
  const View part = scratch.part(dx.rows, dx.cols);
  MatMulTransposed(dy, WeightView(weight), part);
  AddRows(part, dx);
  if (adapter.down.empty()) return;
  const View low = scratch.low(dy.rows, adapter.down.shape()[0]);
  MatMulTransposed(dy, WeightView(adapter.up), low);      // (T, rank)
  MatMulTransposed(low, WeightView(adapter.down), part);  // (T, inputs)
  AddRows(part, dx);
}

View Zeroed(View view) {
  std::fill_n(view.data, view.rows * view.cols, 0.0f);
  return view;
}

// From the gradient of the block's output to that of what attention gives, (T, M).
View MlpBackward(const SharedBlock& b, const HybridWeights& own, const SharedActivations& act,
                 ConstView dinput, SharedBackwardScratch& scratch) {
  const int64_t T = dinput.rows, M = b.d_model, F = b.dims.mlp_width;
  const View dmlp_out = scratch.dmlp_out(T, M), dgated = scratch.dgated(T, F),
             dgate_up = scratch.dgate_up(T, 2 * F);
  MatMulTransposed(dinput, WeightView(own.link), dmlp_out);  // (T, M)
  MatMulTransposed(dmlp_out, WeightView(b.down), dgated);    // (T, F)
  GeluGateBackward(act.gate_up, dgated, dgate_up);           // (T, 2F)
  const View dmlp_normed = Zeroed(scratch.dnormed(T, M));
  UnprojectAdd(dgate_up, b.gate_up, own.gate_up, scratch, dmlp_normed);  // (T, M)
  const View dprojected = Zeroed(scratch.dprojected(T, M));
  RmsNormBackward(act.projected, b.mlp_norm.data(), b.eps, dmlp_normed, dprojected);  // (T, M)
  return dprojected;
}

}  // namespace

void BackwardShared(const SharedBlock& b, const HybridWeights& own,
                    std::span<const AttentionSequence> sequences, const SharedActivations& act,
                    ConstView dinput, SharedBackwardScratch& scratch, View dhidden, View dembedded) {
  const int64_t T = dinput.rows, M = b.d_model, Q = b.dims.query_width(), KV = b.dims.kv_width();
  const View dprojected = MlpBackward(b, own, act, dinput, scratch);
  const View dattended = scratch.dattended(T, Q), dq = scratch.dq(T, Q), dk = scratch.dk(T, KV),
             dv = scratch.dv(T, KV);
  MatMulTransposed(dprojected, WeightView(b.out), dattended);  // (T, heads d)
  CausalAttentionBackward(ShapeOf(b.dims), {act.q, act.k, act.v, act.attended, dattended}, SpansOf(sequences),
                          {dq, dk, dv});
  if (b.dims.rope_theta > 0) {
    const std::vector<int64_t> positions = PositionsOf(sequences, T);
    ApplyRopeBackward(positions, b.dims.head_dim, b.dims.rope_theta, dq);
    ApplyRopeBackward(positions, b.dims.head_dim, b.dims.rope_theta, dk);
  }
  const View dnormed = Zeroed(scratch.dnormed(T, 2 * M)), djoined = Zeroed(scratch.djoined(T, 2 * M));
  UnprojectAdd(dq, b.q, own.q, scratch, dnormed);  // (T, 2M)
  UnprojectAdd(dk, b.k, own.k, scratch, dnormed);
  UnprojectAdd(dv, b.v, own.v, scratch, dnormed);
  RmsNormBackward(act.joined, b.input_norm.data(), b.eps, dnormed, djoined);  // (T, 2M)
  AddRows(djoined.Cols(0, M), dhidden);
  AddRows(djoined.Cols(M, M), dembedded);
}

}  // namespace ghost
