#include "model/block_backward.h"

#include <vector>

#include "kernels/conv/conv1d_backward.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/norm/norm_backward.h"
#include "kernels/scan/ssm_scan_backward.h"
#include "model/block_views.h"

namespace ghost {
namespace {

bool Wanted(const View& gradient) { return gradient.data != nullptr; }

// y = x W^T + bias: the weights' part. `rows` of dy belong to the rows of `weight`.
void LinearBackward(ConstView dy, ConstView x, const View& weight, const View& bias, int first_row) {
  if (Wanted(weight)) OuterAccumulate(dy.Cols(first_row, weight.rows), x, weight);
  if (Wanted(bias)) AddColumnSums(dy, bias.data);
}

// dA_log = dA * A, since A = -exp(A_log).
void AddDecayGradients(const MambaBlock& b, const std::vector<float>& da, const std::vector<float>& dd,
                       const BlockGradients& gradients) {
  for (size_t h = 0; h < da.size(); ++h) {
    if (Wanted(gradients.a_log)) gradients.a_log.data[h] += da[h] * b.a[h];
    if (Wanted(gradients.d)) gradients.d.data[h] += dd[h];
  }
}

}  // namespace

void BackwardBlock(const MambaBlock& b, ConstView input, std::span<const SequenceSpan> sequences,
                   const BlockActivations& act, ConstView dhidden, View dinput, BackwardScratch& scratch,
                   const BlockGradients& gradients) {
  const BlockDims& dims = b.dims;
  const int64_t T = input.rows, M = dims.d_model, R = dims.d_inner(), C = dims.conv_channels();
  const int64_t H = dims.num_heads, GN = dims.state_channels();
  const InProjParts in = ViewInProj(act.zxbcdt, dims);
  const View dgated = scratch.dgated(T, R), dxbc = scratch.dxbc(T, C), ddt = scratch.ddt(T, H);
  const View dzxbcdt = scratch.dzxbcdt(T, dims.in_proj_rows()), dnormed = scratch.dnormed(T, M);
  const InProjParts d_in = ViewInProj(dzxbcdt, dims);
  std::vector<float> da(static_cast<size_t>(H)), dd(da);

  LinearBackward(dhidden, act.gated, gradients.out_proj, gradients.out_proj_bias, 0);  // (M, R)
  MatMulTransposed(dhidden, WeightView(b.out_proj), dgated);                           // (T, R)
  GatedRmsNormBackward(act.y, in.z, b.gate_norm.data(), b.gate_eps, b.norm_groups, dgated,
                       {.y = dgated, .z = d_in.z, .weight = gradients.gate_norm.data});
  const View dy = dgated;  // (T, R): in place
  SsmScanBackward(ViewScan(act.xbc, act.dt, b, dims.group_begin, sequences), act.chunk_states, dy,
                  {.x = dxbc.Cols(0, R),
                   .b = dxbc.Cols(R, GN),
                   .c = dxbc.Cols(R + GN, GN),
                   .dt = ddt,
                   .a = da.data(),
                   .d = dd.data()});
  AddDecayGradients(b, da, dd, gradients);
  SoftplusClampBackward(in.dt, b.dt_bias.data(), b.dt_min, b.dt_max, ddt, d_in.dt);  // (T, H)
  if (Wanted(gradients.dt_bias)) AddColumnSums(d_in.dt, gradients.dt_bias.data);
  for (const SequenceSpan& s : sequences) {
    CausalConvSiluBackward(in.xbc.Rows(s.begin, s.length), ViewConv(b), dxbc.Rows(s.begin, s.length),
                           {.in = d_in.xbc.Rows(s.begin, s.length),
                            .taps = gradients.conv.data,
                            .bias = gradients.conv_bias.data});  // (T, R+2GN)
  }
  LinearBackward(dzxbcdt, act.normed, gradients.in_proj, gradients.in_proj_bias, gradients.first_row);
  MatMulTransposed(dzxbcdt, WeightView(b.in_proj), dnormed);                           // (T, M)
  RmsNormBackward(input, b.norm.data(), b.eps, dnormed, dinput, gradients.norm.data);  // (T, M)
}

}  // namespace ghost
