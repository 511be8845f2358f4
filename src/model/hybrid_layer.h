// A layer of Zamba2 in which a shared transformer block adds to what the Mamba2 mixer sees.
#pragma once

#include <utility>

#include "model/layer.h"
#include "model/mamba_layer.h"

namespace ghost {

class HybridLayer final : public Layer {
 public:
  HybridLayer(MambaBlock block, HybridPart part) : block_(std::move(block)), part_(std::move(part)) {}
  void Forward(const LayerCall& call) const override;
  const MambaBlock* mixer() const override { return &block_; }
  const HybridPart* hybrid() const override { return &part_; }

 private:
  MambaBlock block_;
  HybridPart part_;
};

}  // namespace ghost
