// A loaded model: configuration, stored weights, and the list of steps that runs them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"
#include "model/step.h"
#include "model/weights.h"

namespace ghost {

// Immutable; threads and Runners may share it. Large matrices stay in the mapped file until they are used.
class Model {
 public:
  Model(ModelConfig config, ModelWeights weights);

  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return weights_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<float>& final_norm() const { return final_norm_; }
  const Linear& head() const { return head_; }  // (V, M)

  // The residual stream before the first layer, (T, M). Every id must be in [0, V).
  void Embed(std::span<const int32_t> ids, View hidden) const;

  // By the mixers' ordinal.
  const Mixer& mixer(int ordinal) const { return StepOfMixer(ordinal).mixer->mixer(); }
  const Step& StepOfMixer(int ordinal) const {
    return steps_[static_cast<size_t>(mixer_steps_[static_cast<size_t>(ordinal)])];
  }

  // Whether a part reads the tokens' embeddings, which a pass then has to keep.
  bool reads_embeddings() const { return !config_.shared_uses.empty(); }

 private:
  ModelConfig config_;
  ModelWeights weights_;
  std::vector<Step> steps_;
  std::vector<int> mixer_steps_;
  std::vector<float> final_norm_;
  Linear head_;
};

}  // namespace ghost
