#include "model/parts/shared_block.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_backward.h"
#include "kernels/rows/gather.h"
#include "model/optional_floats.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

// What one call leaves; T rows each.
struct SharedMemory {
  Buffer joined;      // (T, 2M): residual stream | embeddings
  Buffer normed;      // (T, 2M)
  Buffer projected;   // (T, M): attention's output
  Buffer mlp_normed;  // (T, M)
  Buffer mlp_out;     // (T, M)
  AttentionMemory attention;
  MlpMemory mlp;
};

struct SharedBackwardMemory {
  Buffer dmlp_out, dprojected, djoined, dnormed;
  AttentionBackwardMemory attention;
  MlpBackwardMemory mlp;
};

void Join(ConstView hidden, ConstView embedded, View joined) {
  const int64_t M = hidden.cols;
  const auto join = [&](int64_t t) {
    std::copy_n(hidden.Row(t), M, joined.Row(t));
    std::copy_n(embedded.Row(t), M, joined.Row(t) + M);
  };
  ParallelFor(hidden.rows, join, /*work=*/hidden.rows * 2 * M);
}

View GrowZeroed(Buffer& buffer, int64_t rows, int64_t cols) {
  const View view = Grow(buffer, rows, cols);
  ZeroRows(view);
  return view;
}

}  // namespace

PartCost CostOf(const SharedUseDims& use, const SharedBlockDims& block) {
  const double M = block.mlp.d_model, F = block.mlp.width, rank = use.adapter_rank;
  const double Q = block.attention.query_width(), KV = block.attention.kv_width();
  PartCost cost = CostOf(block.attention);
  cost += CostOf(block.mlp);
  if (use.attention_adapters) cost.macs += rank * (3 * 2 * M + Q + 2 * KV);
  cost.macs += rank * (M + 2 * F) + M * M;
  return cost;
}

SharedBlock MakeSharedBlock(const SharedBlockDims& dims, const SharedBlockWeights& w) {
  return {dims, MakeAttention(dims.attention, w.attention), MakeMlp(dims.mlp, w.mlp), ToFloats(w.input_norm),
          ToFloats(w.mlp_norm)};
}

void SharedBlockInput::Forward(ConstView hidden, const Pass& pass, Workspace& workspace, View input) const {
  const SharedBlock& b = *block_;
  const int64_t T = hidden.rows, M = hidden.cols;
  auto& memory = workspace.Get<SharedMemory>();
  const View joined = Grow(memory.joined, T, 2 * M), normed = Grow(memory.normed, T, 2 * M);
  const View projected = Grow(memory.projected, T, M), mlp_normed = Grow(memory.mlp_normed, T, M);
  const View mlp_out = Grow(memory.mlp_out, T, M);

  Join(hidden, pass.embedded, joined);                       // (T, 2M)
  RmsNorm(joined, b.input_norm.data(), b.dims.eps, normed);  // (T, 2M)
  const ConstView attended =
      Attend(b.attention, adapters(), normed, CachedSequences(pass.sequences, use_.number), memory.attention);
  Apply(b.attention.out, attended, projected);                                   // (T, M)
  RmsNorm(projected, b.mlp_norm.data(), b.dims.eps, mlp_normed);                 // (T, M)
  const ConstView gated = GateUp(b.mlp, &own_.gate_up, mlp_normed, memory.mlp);  // (T, F)
  Apply(b.mlp.down, gated, mlp_out);                                             // (T, M)
  CopyRows(joined.Cols(0, M), input);
  MatMul(mlp_out, WeightView(own_.link), input, {.accumulate = true});  // (T, M)
}

void SharedBlockInput::Backward(const BackwardCall& call, ConstView dinput, View dhidden,
                                View dembedded) const {
  const SharedBlock& b = *block_;
  const int64_t T = dinput.rows, M = dinput.cols;
  auto& memory = call.kept.Get<SharedMemory>();
  auto& scratch = call.scratch.Get<SharedBackwardMemory>();
  const View dmlp_out = Grow(scratch.dmlp_out, T, M);
  MatMulTransposed(dinput, WeightView(own_.link), dmlp_out);  // (T, M)
  const View dmlp_normed = GrowZeroed(scratch.dnormed, T, M);
  MlpBackward(b.mlp, &own_.gate_up, memory.mlp, dmlp_out, scratch.mlp, dmlp_normed);  // (T, M)
  const View dprojected = GrowZeroed(scratch.dprojected, T, M);
  RmsNormBackward(Grow(memory.projected, T, M), b.mlp_norm.data(), b.dims.eps, dmlp_normed, dprojected);
  const View dnormed = GrowZeroed(scratch.dnormed, T, 2 * M), djoined = GrowZeroed(scratch.djoined, T, 2 * M);
  AttendBackward(b.attention, adapters(), CachedSequences(call.pass.sequences, use_.number), memory.attention,
                 dprojected, scratch.attention, dnormed);  // (T, 2M)
  RmsNormBackward(Grow(memory.joined, T, 2 * M), b.input_norm.data(), b.dims.eps, dnormed, djoined);
  AddRows(djoined.Cols(0, M), dhidden);
  AddRows(djoined.Cols(M, M), dembedded);
}

}  // namespace ghost
