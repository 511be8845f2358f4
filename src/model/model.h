// A loaded model: configuration, stored weights, and the list of layers that runs them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/config.h"
#include "model/layer.h"
#include "model/weights.h"

namespace ghost {

// Immutable; threads and Runners may share it. Large matrices stay in the mapped file until they are used.
class Model {
 public:
  Model(ModelConfig config, ModelWeights weights);

  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return weights_; }
  const std::vector<std::unique_ptr<Layer>>& layers() const { return layers_; }
  const std::vector<float>& final_norm() const { return final_norm_; }

 private:
  ModelConfig config_;
  ModelWeights weights_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<float> final_norm_;
};

// What the family was trained with, changed to what another implementation computes.
struct ModelOverrides {
  std::optional<NormGrouping> norm_grouping;  // --norm-groups
  std::optional<float> dt_min;                // --dt-min
};
Model LoadModel(const Checkpoint& checkpoint, const ModelOverrides& overrides = {});

}  // namespace ghost
