#include "model/weights.h"

namespace ghost {

ModelWeights::ModelWeights(const ModelConfig& config)
    : norms(static_cast<size_t>(config.num_steps())),
      mixers(config.mixers.size()),
      attentions(config.attentions.size()),
      mlps(config.mlps.size()),
      shared_uses(config.shared_uses.size()),
      shared_blocks(config.shared_blocks.size()) {}

ModelGradients::ModelGradients(const ModelConfig& config)
    : norms(static_cast<size_t>(config.num_steps())), mixers(config.mixers.size()) {}

int64_t CountParameters(const ModelConfig& config) {
  ModelWeights none(config);
  int64_t total = 0;
  ForEachTensor(none, config, [&](const Tensor&, const TensorRow& row) { total += row.shape.NumElements(); });
  return total;
}

}  // namespace ghost
