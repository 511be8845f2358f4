// One Mamba2 block: norm, input projection, convolution, scan, gated norm, output projection, residual.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/layer.h"
#include "model/weights.h"

namespace ghost {

// A block ready to run: the two matrices stay as stored (and mapped); the small vectors are float32.
struct MambaBlock {
  BlockDims dims;
  float eps = 1e-5f;       // of the norm before the projection
  float gate_eps = 1e-5f;  // of the gated norm
  int norm_groups = 1;
  float dt_min = 0.0f, dt_max = 0.0f;
  Tensor in_proj, out_proj;
  std::vector<float> norm, in_proj_bias, conv_taps, conv_bias, dt_bias, a, d, gate_norm, out_proj_bias;
};

MambaBlock MakeMambaBlock(const BlockWeights& weights, const ModelConfig& config, int layer);

class MambaLayer final : public Layer {
 public:
  explicit MambaLayer(MambaBlock block) : block_(std::move(block)) {}
  void Forward(const LayerCall& call) const override;
  const MambaBlock* mixer() const override { return &block_; }

 private:
  MambaBlock block_;
};

}  // namespace ghost
