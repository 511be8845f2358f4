#include "model/mamba_layer.h"

#include <cmath>

#include "model/block_forward.h"

namespace ghost {
namespace {

// GGUF stores A = -exp(A_log) itself, the other layouts A_log.
std::vector<float> DecayRates(const Tensor& stored, Layout layout) {
  std::vector<float> a = ToFloats(stored);
  if (layout != Layout::kGguf) {
    for (float& value : a) value = -std::exp(value);
  }
  return a;
}

}  // namespace

MambaBlock MakeMambaBlock(const BlockWeights& weights, const ModelConfig& config, int layer) {
  MambaBlock b;
  b.dims = config.blocks[static_cast<size_t>(layer)];
  b.eps = config.norm_eps;
  b.gate_eps = config.gate_norm_eps;
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
  const BlockActivations act = ScratchActivations(call.scratch, block_.dims, call.hidden.rows);
  ForwardBlock(block_, call.hidden, call.hidden, call.sequences, act, call.stats);
}

}  // namespace ghost
