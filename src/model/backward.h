// Gradients of the language-modelling loss with respect to the weights of every Mamba2 block.
//
// Only the input of every layer is kept from the forward pass; the backward sweep computes each layer anew,
// so memory is the layer inputs, one layer's activations and one layer's gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/model.h"
#include "tensor/buffer.h"

namespace ghost {

class MambaLayer;

enum class InProjRows {
  kAll,
  kState,  // those of B and C, all that Taylor scores need
};

// Which gradients of a block are wanted; the others stay empty.
struct GradientRequest {
  InProjRows in_proj = InProjRows::kAll;
  bool conv = true;
};

// One layer's gradients for one sample; valid during the call of the sink. An empty view was not asked for,
// or the model has no such tensor. What a trainer would need besides (norms, D, A_log, dt_bias, projections'
// biases, out_proj) joins as further members.
struct BlockGradients {
  int first_row = 0;    // of in_proj that `in_proj` starts with: 0, or 2R for the rows of B and C alone
  ConstView in_proj;    // (rows, M)
  ConstView conv;       // (R+2GN, W)
  ConstView conv_bias;  // (1, R+2GN)
};

// Called once per layer, from the last to the first.
using GradientSink = std::function<void(int layer, const BlockGradients& gradients)>;

// Owns the activations; the model must outlive it. One thread uses a BackwardPass at a time. Results do not
// depend on the number of threads.
class BackwardPass {
 public:
  // A model with layers other than Mamba2 blocks is Error(kUnsupported).
  explicit BackwardPass(const Model& model, const GradientRequest& request = {});

  // Forward and backward over one sample that starts from an empty state. Returns the sum of -log p over its
  // L-1 targets; the gradients are those of `loss_scale` times that sum (1 / (L-1) for the sample's mean).
  // Fewer than two tokens, or ids outside the vocabulary, are Error(kUsage).
  double Run(std::span<const int32_t> tokens, double loss_scale, const GradientSink& sink);

 private:
  SequenceSpan EmptySequence(const BlockDims& dims);
  void KeepLayerInputs(std::span<const int32_t> tokens);
  double LossBackward(std::span<const int32_t> tokens, double loss_scale);
  void LayerBackward(int layer, const GradientSink& sink);

  const Model& model_;
  GradientRequest request_;
  std::vector<const MambaLayer*> layers_;
  Scratch scratch_;
  int64_t length_ = 0;  // L of the sample at hand
  Buffer inputs_;       // (layers + 1, L, M): the residual stream before every layer, and after the last
  Buffer state_;        // convolution and SSM state of the layer at hand
  Buffer dhidden_;      // (L, M): gradient of the residual stream
  Buffer final_, logits_, dnormed_, dgated_, dxbc_, dzxbcdt_, ddt_, chunk_states_;
  Buffer in_proj_gradient_, conv_gradient_, conv_bias_gradient_;
};

}  // namespace ghost
