#include "model/mamba_layer.h"

#include <cmath>

#include "kernels/conv1d.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"

namespace ghost {
namespace {

// The parts of the input projection's output, by column; nothing is copied.
struct InProjParts {
  View z;    // (T, R)
  View xbc;  // (T, R+2GN): what the convolution sees
  View dt;   // (T, H)
};

InProjParts ViewInProj(View zxbcdt, const BlockDims& dims) {
  const int64_t R = dims.d_inner(), C = dims.conv_channels(), H = dims.num_heads;
  return {zxbcdt.Cols(0, R), zxbcdt.Cols(R, C), zxbcdt.Cols(R + C, H)};
}

ScanInput ViewScan(View xbc, View dt, const MambaBlock& b, std::span<const SequenceSpan> sequences) {
  const int64_t R = b.dims.d_inner(), GN = b.dims.state_channels();
  ScanInput in;
  in.num_heads = b.dims.num_heads;
  in.head_dim = b.dims.head_dim;
  in.group_begin = b.dims.group_begin;
  in.x = xbc.Cols(0, R);
  in.b = xbc.Cols(R, GN);
  in.c = xbc.Cols(R + GN, GN);
  in.dt = dt;
  in.a = b.a.data();
  in.d = b.d.data();
  in.sequences = sequences;
  return in;
}

const float* DataOrNull(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

// GGUF stores A = -exp(A_log) itself, the other layouts A_log.
std::vector<float> DecayRates(const Tensor& stored, Layout layout) {
  std::vector<float> a = ToFloats(stored);
  if (layout != Layout::kGguf) {
    for (float& value : a) value = -std::exp(value);
  }
  return a;
}

std::vector<float> OptionalFloats(const Tensor& tensor) {
  return tensor.empty() ? std::vector<float>{} : ToFloats(tensor);
}

}  // namespace

MambaBlock MakeMambaBlock(const BlockWeights& weights, const ModelConfig& config, int layer) {
  MambaBlock b;
  b.dims = config.blocks[static_cast<size_t>(layer)];
  b.eps = config.norm_eps;
  b.norm_groups = config.norm_groups(b.dims);
  b.dt_min = config.dt_min;
  b.dt_max = config.dt_max;
  b.in_proj = weights.in_proj;
  b.out_proj = weights.out_proj;
  b.norm = ToFloats(weights.norm);
  b.in_proj_bias = OptionalFloats(weights.in_proj_bias);
  b.conv_taps = ToFloats(weights.conv);
  b.conv_bias = OptionalFloats(weights.conv_bias);
  b.dt_bias = ToFloats(weights.dt_bias);
  b.a = DecayRates(weights.a_log, config.layout);
  b.d = ToFloats(weights.d);
  b.gate_norm = ToFloats(weights.gate_norm);
  b.out_proj_bias = OptionalFloats(weights.out_proj_bias);
  return b;
}

void MambaLayer::Forward(const LayerCall& call) const {
  const MambaBlock& b = block_;
  const BlockDims& dims = b.dims;
  const int64_t T = call.hidden.rows;
  const ConvWeights conv{b.conv_taps.data(), DataOrNull(b.conv_bias), dims.conv_width};
  const View normed = call.scratch.normed(T, dims.d_model);
  const View zxbcdt = call.scratch.zxbcdt(T, dims.in_proj_rows());
  const View xbc = call.scratch.xbc(T, dims.conv_channels());
  const View dt = call.scratch.dt(T, dims.num_heads);
  const View y = call.scratch.y(T, dims.d_inner());
  const InProjParts in = ViewInProj(zxbcdt, dims);

  RmsNorm(call.hidden, b.norm.data(), b.eps, normed);                                   // (T, M)
  MatMul(normed, WeightView(b.in_proj), zxbcdt, {.bias = DataOrNull(b.in_proj_bias)});  // (T, 2R+2GN+H)
  CausalConvSilu(in.xbc, conv, call.sequences, xbc);                                    // (T, R+2GN)  eq. 10
  SoftplusClamp(in.dt, b.dt_bias.data(), b.dt_min, b.dt_max, dt);                       // (T, H)
  SsmScan(ViewScan(xbc, dt, b, call.sequences), y, call.stats);                         // (T, R)   eq. 2, 3
  GatedRmsNorm(y, in.z, b.gate_norm.data(), b.eps, b.norm_groups);                      // (T, R)
  MatMul(y, WeightView(b.out_proj), call.hidden,
         {.bias = DataOrNull(b.out_proj_bias), .accumulate = true});  // (T, M)  u += y W^T
}

}  // namespace ghost
