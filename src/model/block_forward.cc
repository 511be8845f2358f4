#include "model/block_forward.h"

#include "kernels/conv/conv1d.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/scan/ssm_scan_backward.h"
#include "model/block_views.h"

namespace ghost {

BlockActivations ScratchActivations(Scratch& scratch, const BlockDims& dims, int64_t rows) {
  BlockActivations act;
  act.normed = scratch.normed(rows, dims.d_model);
  act.zxbcdt = scratch.zxbcdt(rows, dims.in_proj_rows());
  act.xbc = scratch.xbc(rows, dims.conv_channels());
  act.dt = scratch.dt(rows, dims.num_heads);
  act.y = act.gated = scratch.y(rows, dims.d_inner());
  return act;
}

void ForwardMixer(const MambaBlock& b, ConstView input, std::span<const SequenceSpan> sequences,
                  const BlockActivations& act, const ScanStats* stats) {
  const InProjParts in = ViewInProj(act.zxbcdt, b.dims);
  const ScanInput scan = ViewScan(act.xbc, act.dt, b, b.dims.group_begin, sequences);
  RmsNorm(input, b.norm.data(), b.eps, act.normed);  // (T, M)
  MatMul(act.normed, WeightView(b.in_proj), act.zxbcdt,
         {.bias = DataOrNull(b.in_proj_bias)});                        // (T, 2R+2GN+H)
  CausalConvSilu(in.xbc, ViewConv(b), sequences, act.xbc);             // (T, R+2GN)  eq. 10
  SoftplusClamp(in.dt, b.dt_bias.data(), b.dt_min, b.dt_max, act.dt);  // (T, H)
  if (act.chunk_states) {
    GHOST_CHECK(!stats);
    SsmScanChunks(scan, act.y, act.chunk_states);  // (T, R)  eq. 2, 3
  } else {
    SsmScan(scan, act.y, stats);  // (T, R)  eq. 2, 3
  }
  GatedRmsNorm(act.y, in.z, b.gate_norm.data(), b.gate_eps, b.norm_groups, act.gated);  // (T, R)
}

void ForwardBlock(const MambaBlock& b, ConstView input, View hidden, std::span<const SequenceSpan> sequences,
                  const BlockActivations& act, const ScanStats* stats) {
  ForwardMixer(b, input, sequences, act, stats);
  MatMul(act.gated, WeightView(b.out_proj), hidden,
         {.bias = DataOrNull(b.out_proj_bias), .accumulate = true});  // (T, M)  u += y W^T
}

}  // namespace ghost
