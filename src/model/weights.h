// The one table of tensors. Loader, writers, parameter counts and `ghost inspect` walk it, so that a tensor
// that one of them knows is known to all.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/gradients.h"
#include "tensor/tensor.h"

namespace ghost {

// A slot per tensor of a model: Tensor for weights, LazyTensor for those that are yet to be made.
template <class Slot>
struct ModelTensors {
  Slot embedding;           // (V, M)
  Slot final_norm;          // (M)
  Slot head;                // (V, M); shares the embedding's bytes when tied
  std::vector<Slot> norms;  // (M) each, one per step
  // As the lists of ModelConfig.
  std::vector<MixerTensors<Slot>> mixers;
  std::vector<AttentionTensors<Slot>> attentions;
  std::vector<MlpTensors<Slot>> mlps;
  std::vector<ExpertsTensors<Slot>> experts;
  std::vector<SharedUseTensors<Slot>> shared_uses;
  std::vector<SharedBlockTensors<Slot>> shared_blocks;

  ModelTensors() = default;
  // With a place for every tensor of a model.
  explicit ModelTensors(const ModelConfig& config)
      : norms(static_cast<size_t>(config.num_steps())),
        mixers(config.mixers.size()),
        attentions(config.attentions.size()),
        mlps(config.mlps.size()),
        experts(config.experts.begin(), config.experts.end()),
        shared_uses(config.shared_uses.size()),
        shared_blocks(config.shared_blocks.size()) {}
};
using ModelWeights = ModelTensors<Tensor>;

template <class Visit>
void ForEachPartTensor(const PartRef ref, ModelGradients& g, const ModelConfig& config, Visit&& visit) {
  const auto index = static_cast<size_t>(ref.index);
  if (ref.kind == PartKind::kMixer) ForEachTensor(g.mixers[index], config.mixers[index], visit);
}

template <class Weights, class Visit>
void ForEachPartTensor(const PartRef ref, Weights& w, const ModelConfig& config, Visit&& visit) {
  const auto each = [&](auto& slots, const auto& dims) { ForEachTensor(slots, dims, visit); };
  VisitPart(ref, each, w, config);
}

// The norms and parts of all layers, in their order.
template <class Weights, class Visit>
void ForEachLayerTensor(Weights& w, const ModelConfig& config, Visit&& visit) {
  size_t number = 0;
  for (const LayerSpec& layer : config.layers) {
    for (const StepSpec& step : layer.steps) {
      visit(w.norms[number++], TensorRow{step.norm, {config.d_model}});
      for (const PartRef ref : step.parts) ForEachPartTensor(ref, w, config, visit);
    }
  }
}

// visit(slot, row) for every tensor that a model of this config has: embedding, layers, shared blocks, what
// layers add to them, final norm, head. `Weights` is ModelWeights or ModelGradients made for this config;
// gradients exist for the tensors of mixers and norms alone.
template <class Weights, class Visit>
void ForEachTensor(Weights& w, const ModelConfig& config, Visit&& visit) {
  const int64_t V = config.vocab_size, M = config.d_model;
  visit(w.embedding, TensorRow{config.embedding, {V, M}, /*is_matrix=*/true});
  ForEachLayerTensor(w, config, visit);
  if constexpr (requires { w.shared_blocks; }) {
    for (size_t i = 0; i < config.shared_blocks.size(); ++i)
      ForEachTensor(w.shared_blocks[i], config.shared_blocks[i], visit);
    for (size_t i = 0; i < config.shared_uses.size(); ++i) {
      const SharedUseDims& use = config.shared_uses[i];
      ForEachTensor(w.shared_uses[i], use, config.shared_blocks[static_cast<size_t>(use.block)], visit);
    }
  }
  visit(w.final_norm, TensorRow{config.final_norm, {M}});
  if (!config.tied_head) visit(w.head, TensorRow{config.head, {V, M}, /*is_matrix=*/true});
}

// Parameters, a tied head counted once.
int64_t CountParameters(const ModelConfig& config);

}  // namespace ghost
