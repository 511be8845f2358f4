#include "model/parts/mixer_backward.h"

#include <vector>

#include "kernels/conv/conv1d_backward.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/norm/norm_backward.h"
#include "kernels/rows/scale.h"
#include "kernels/rows/silu_gate.h"
#include "kernels/scan/ssm_scan_backward.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

bool Wanted(const View& gradient) { return gradient.data != nullptr; }

// y = x W^T + bias: the weights' part. Columns [first_row, first_row + weight.rows) of dy belong to `weight`.
void LinearBackward(ConstView dy, ConstView x, const View& weight, const View& bias, int first_row) {
  if (Wanted(weight)) OuterAccumulate(dy.Cols(first_row, weight.rows), x, weight);
  if (Wanted(bias)) AddColumnSums(dy, bias.data);
}

// The gradient of the output projection's product and bias, which out_scale multiplies.
ConstView ScaledOutput(const Mixer& m, ConstView dhidden, Buffer& memory) {
  if (m.out_scale.empty()) return dhidden;
  const View dout = Grow(memory, dhidden.rows, dhidden.cols);
  ScaleColumns(dhidden, m.out_scale.data(), dout);
  return dout;
}

void GateBackward(const Mixer& m, ConstView y, ConstView z, ConstView dout,
                  const GatedNormGradients& gradients) {
  const MixerDims& d = m.dims;
  switch (d.gate_form) {
    case GateForm::kGateThenNorm:
      return GatedRmsNormBackward(y, z, m.gate_norm.data(), d.gate_eps, d.norm_groups(), dout, gradients);
    case GateForm::kNormThenGate:
      return RmsNormThenGateBackward(y, z, m.gate_norm.data(), d.gate_eps, d.norm_groups(), dout, gradients);
    case GateForm::kGateOnly:
      return SiluGateBackward(y, z, dout, gradients.y, gradients.z);
  }
}

// From the gradients of the mapped B and C, dbc: (T, 2 sum N_g), to those of the maps and of B' and C'.
void MapsBackward(const Mixer& m, ConstView xbc, ConstView dbc, View dxbc, const MixerGradients& gradients) {
  const MixerDims& d = m.dims;
  const int64_t N = d.input_group_size();
  const auto one = [&](const Tensor& map, const View& dmap, int64_t conv_begin, int64_t first_column) {
    for (int g = 0; g < d.num_groups(); ++g) {
      const int64_t first = d.state_begin[static_cast<size_t>(g)], r = d.group_size(g);
      const ConstView dy = dbc.Cols(first_column + first, r), x = xbc.Cols(conv_begin + g * N, N);
      if (Wanted(dmap)) OuterAccumulate(dy, x, dmap.Rows(first, r));
      MatMulTransposed(dy, WeightView(map).Rows(first, r), dxbc.Cols(conv_begin + g * N, N));
    }
  };
  one(m.b_map, gradients.b_map, d.conv_b(), 0);
  one(m.c_map, gradients.c_map, d.conv_c(), d.state_channels());
}

// dA_log = dA * A, since A = -exp(A_log).
void AddDecayGradients(const Mixer& m, const std::vector<float>& da, const std::vector<float>& dd,
                       const MixerGradients& gradients) {
  for (size_t h = 0; h < da.size(); ++h) {
    if (Wanted(gradients.a_log)) gradients.a_log.data[h] += da[h] * m.a[h];
    if (Wanted(gradients.d)) gradients.d.data[h] += dd[h];
  }
}

}  // namespace

void BackwardMixer(const Mixer& m, ConstView normed, std::span<const SequenceSpan> sequences,
                   const MixerActivations& act, ConstView dhidden, View dnormed,
                   MixerBackwardScratch& scratch, const MixerGradients& gradients) {
  const MixerDims& d = m.dims;
  const int64_t T = normed.rows, R = d.d_inner(), C = d.conv_channels(), H = d.num_heads;
  const int64_t GN = d.state_channels();
  const InProjParts in = ViewInProj(act.zxbcdt, d);
  const View dgated = Grow(scratch.dgated, T, R), dxbc = Grow(scratch.dxbc, T, C);
  const View ddt = Grow(scratch.ddt, T, H), dzxbcdt = Grow(scratch.dzxbcdt, T, d.in_proj_rows());
  const InProjParts d_in = ViewInProj(dzxbcdt, d);
  std::vector<float> da(static_cast<size_t>(H)), dd(da);

  const ConstView dout = ScaledOutput(m, dhidden, scratch.dout);                    // (T, M)
  LinearBackward(dout, act.gated, gradients.out_proj, gradients.out_proj_bias, 0);  // (M, R)
  MatMulTransposed(dout, WeightView(m.out_proj), dgated);                           // (T, R)
  GateBackward(m, act.y, in.z, dgated, {.y = dgated, .z = d_in.z, .weight = gradients.gate_norm.data});
  const View dy = dgated;  // (T, R): in place
  const View dbc = d.state_maps ? Grow(scratch.dbc, T, 2 * GN) : dxbc.Cols(d.conv_b(), 2 * GN);
  const ScanInput scan = ViewScan(m, act.xbc.Cols(d.conv_x(), R), act.bc, act.dt, d.state_begin, sequences);
  SsmScanBackward(scan, act.chunk_states, dy,
                  {.x = dxbc.Cols(d.conv_x(), R),
                   .b = dbc.Cols(0, GN),
                   .c = dbc.Cols(GN, GN),
                   .dt = ddt,
                   .a = da.data(),
                   .d = dd.data()});
  if (d.state_maps) MapsBackward(m, act.xbc, dbc, dxbc, gradients);
  AddDecayGradients(m, da, dd, gradients);
  SoftplusClampBackward(in.dt, m.dt_bias.data(), d.dt_min, d.dt_max, ddt, d_in.dt);  // (T, H)
  if (Wanted(gradients.dt_bias)) AddColumnSums(d_in.dt, gradients.dt_bias.data);
  for (const SequenceSpan& s : sequences) {
    CausalConvSiluBackward(in.xbc.Rows(s.begin, s.length), ViewConv(m), dxbc.Rows(s.begin, s.length),
                           {.in = d_in.xbc.Rows(s.begin, s.length),
                            .taps = gradients.conv.data,
                            .bias = gradients.conv_bias.data});  // (T, R+2GN)
  }
  if (const std::vector<float> factors = BlockFactors(d); !factors.empty())
    ScaleColumns(dzxbcdt, factors.data(), dzxbcdt);
  if (Wanted(gradients.in_proj_bias)) AddColumnSums(dzxbcdt, gradients.in_proj_bias.data);
  if (d.factors.input != 1.0f) ScaleRows(dzxbcdt, d.factors.input, dzxbcdt);  // not of the bias
  LinearBackward(dzxbcdt, normed, gradients.in_proj, /*bias=*/{}, gradients.first_row);
  if (Wanted(dnormed)) MatMulTransposed(dzxbcdt, WeightView(m.in_proj), dnormed);  // (T, M)
}

}  // namespace ghost
