// Gradients of the language-modelling loss, or of a distance to another model's predictions, with respect to
// the weights of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/gradients.h"
#include "model/model.h"
#include "model/runner.h"
#include "tensor/buffer.h"

namespace ghost {

// What the forward sweep leaves for the backward one.
enum class KeepPolicy {
  kInputs,       // every step's input; its activations are computed again: memory of one step at a time
  kActivations,  // everything: a third less to compute, for models whose activations fit
};

inline constexpr int32_t kNoTarget = -1;

// Sequences of `length` tokens, one after the other, each starting from an empty state.
struct TokenBatch {
  std::span<const int32_t> tokens;   // (sequences * length)
  std::span<const int32_t> targets;  // as many: what each token should be followed by, or kNoTarget
  int64_t length = 0;                // L
};

enum class InProjRows {
  kAll,
  kState,  // those of B and C, all that Taylor scores need
};

// Which gradients of a mixer a sink gets; the others stay empty.
struct GradientRequest {
  InProjRows in_proj = InProjRows::kAll;
  bool conv = true;
};

// Called once per mixer, from the last to the first; the gradients are valid during the call.
using GradientSink = std::function<void(int mixer, const MixerGradients& gradients)>;

// Owns the activations; the model must outlive it. It may be assigned to between calls (a trainer's weights
// change) as long as its configuration stays. One thread uses a BackwardPass at a time. Results do not depend
// on the number of threads.
class BackwardPass {
 public:
  // Gradients flow through every part; only mixers, norms, embedding and head get gradients of their weights.
  explicit BackwardPass(const Model& model, const GradientRequest& request = {},
                        KeepPolicy policy = KeepPolicy::kInputs);

  // From now on Run learns from another model as well. Its loss of a target becomes
  //   (1 - weight) * -log p[target] + weight * KL(teacher || p)
  // with the teacher's distribution over the vocabulary at the same place. The teacher runs forward on every
  // batch; its logits exist for a few hundred rows at a time, as the model's own do. It must outlive the pass
  // and have a vocabulary of the same size; weight in 0..1, where 0 means no teacher.
  void LearnFrom(const Model& teacher, double weight);

  // Forward and backward. Returns the sum of the loss over all targets, which is -log p where there is no
  // teacher, and adds the gradients of `loss_scale` times that sum to those of `gradients` that are wanted.
  // `done`, if any, is called with the ordinal of a mixer as soon as its gradients are complete. An empty
  // batch, or ids outside the vocabulary, are Error(kUsage).
  double Run(const TokenBatch& batch, double loss_scale, const ModelGradients& gradients,
             const std::function<void(int mixer)>& done = nullptr);

  // One sample whose every token is to be predicted from those before it, with one mixer's gradients at a
  // time. Fewer than two tokens are Error(kUsage).
  double Run(std::span<const int32_t> tokens, double loss_scale, const GradientSink& sink);

  // The sum of -log p alone, with and without a teacher.
  double Loss(const TokenBatch& batch);

 private:
  View Hidden(int step);  // (T, M): the residual stream before `step`, or after the last
  Workspace& KeptOf(const Step& step);
  Pass MakePass(bool for_backward);
  void Begin(const TokenBatch& batch);
  void ForwardSteps(const TokenBatch& batch, bool for_backward);
  double HeadLoss(const TokenBatch& batch);
  double HeadBackward(const TokenBatch& batch, double loss_scale, const ModelGradients& gradients);
  MixerGradients SampleGradients(const MixerDims& dims);

  const Model& model_;
  GradientRequest request_;
  KeepPolicy policy_;
  SequenceBatch sequences_;      // of the batch at hand
  int64_t rows_ = 0;             // T of the batch at hand
  std::vector<Workspace> kept_;  // one per step, or one for all
  Workspace scratch_;
  Buffer inputs_;     // (steps + 1, T, M)
  Buffer dhidden_;    // (T, M): gradient of the residual stream
  Buffer dembedded_;  // (T, M): gradient of the embeddings, beside that of the residual stream
  Buffer final_, dfinal_, logits_, sample_gradients_;
  std::optional<Runner> teacher_;
  double teacher_weight_ = 0.0;
};

}  // namespace ghost
