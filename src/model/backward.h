// Gradients of the language-modelling loss with respect to the weights of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/block_backward.h"
#include "model/gradients.h"
#include "model/model.h"
#include "model/shared_block_backward.h"
#include "tensor/buffer.h"

namespace ghost {

// What the forward sweep leaves for the backward one.
enum class KeepPolicy {
  kInputs,       // every layer's input; its activations are computed anew: a layer's memory at a time
  kActivations,  // everything: a third less to compute, for models whose activations fit
};

inline constexpr int32_t kNoTarget = -1;

// Sequences of `length` tokens, one behind the other, each starting from an empty state.
struct TokenBatch {
  std::span<const int32_t> tokens;   // (sequences * length)
  std::span<const int32_t> targets;  // as many: what each token should be followed by, or kNoTarget
  int64_t length = 0;                // L
};

enum class InProjRows {
  kAll,
  kState,  // those of B and C, all that Taylor scores need
};

// Which gradients of a block RunSample gives; the others stay empty.
struct GradientRequest {
  InProjRows in_proj = InProjRows::kAll;
  bool conv = true;
};

// Called once per layer, from the last to the first; the gradients are valid during the call.
using GradientSink = std::function<void(int layer, const BlockGradients& gradients)>;

// Owns the activations; the model must outlive it. It may be assigned to between calls (a trainer's weights
// change) as long as its configuration stays. One thread uses a BackwardPass at a time. Results do not depend
// on the number of threads.
class BackwardPass {
 public:
  // A model with a layer that has no Mamba2 mixer is Error(kUnsupported). The weights of shared blocks get no
  // gradients; what comes through them does.
  explicit BackwardPass(const Model& model, const GradientRequest& request = {},
                        KeepPolicy policy = KeepPolicy::kInputs);

  // Forward and backward. Returns the sum of -log p over all targets and adds the gradients of `loss_scale`
  // times that sum to those of `gradients` that are wanted. `done`, if any, is called after every layer.
  // An empty batch, or ids outside the vocabulary, are Error(kUsage).
  double Run(const TokenBatch& batch, double loss_scale, const ModelGradients& gradients,
             const std::function<void(int layer)>& done = nullptr);

  // One sample whose every token is to be predicted from those before it, with one layer's gradients at a
  // time. Fewer than two tokens are Error(kUsage).
  double Run(std::span<const int32_t> tokens, double loss_scale, const GradientSink& sink);

  // The sum of -log p alone.
  double Loss(const TokenBatch& batch);

 private:
  // The memory behind one layer's BlockActivations.
  struct LayerMemory {
    Buffer normed, zxbcdt, xbc, dt, y, gated, chunk_states;
  };

  View Hidden(int layer);  // (T, M): the residual stream before `layer`, or after the last
  std::span<const SequenceSpan> EmptySequences(const BlockDims& dims);
  BlockActivations Activations(int layer, bool for_backward);
  // What the mixer of `layer` sees, (T, M): the residual stream, or what a shared block makes of it, computed
  // now.
  ConstView MixerInput(int layer);
  void BackwardLayer(int layer, const BlockGradients& gradients);
  void Begin(const TokenBatch& batch);
  void ForwardLayers(const TokenBatch& batch, bool for_backward);
  double HeadLoss(const TokenBatch& batch);
  double HeadBackward(const TokenBatch& batch, double loss_scale, const ModelGradients& gradients);
  BlockGradients SampleGradients(const BlockDims& dims);

  const Model& model_;
  GradientRequest request_;
  KeepPolicy policy_;
  int64_t length_ = 0, rows_ = 0;    // L and T of the batch at hand
  std::vector<LayerMemory> memory_;  // one per layer, or one for all
  std::vector<SequenceSpan> spans_;
  Buffer inputs_;   // (layers + 1, T, M)
  Buffer states_;   // convolution and SSM states of the layer at hand
  Buffer dhidden_;  // (T, M): gradient of the residual stream
  // Of hybrid layers, all (T, M): the mixer's input, its gradient, that of the embeddings.
  Buffer mixer_input_, dmixer_input_, dembedded_;
  SharedMemory shared_;  // of the layer at hand
  SharedBackwardScratch shared_scratch_;
  std::vector<AttentionSequence> attention_;  // the sequences, for hybrid layers
  Buffer final_, dfinal_, logits_, sample_gradients_;
  BackwardScratch scratch_;
};

}  // namespace ghost
