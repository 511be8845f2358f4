#include "model/weights.h"

namespace ghost {

ModelGradients::ModelGradients(const ModelConfig& config)
    : norms(static_cast<size_t>(config.num_steps())), mixers(config.mixers.size()) {}

int64_t CountParameters(const ModelConfig& config) {
  ModelWeights none(config);
  int64_t total = 0;
  ForEachTensor(none, config, [&](const Tensor&, const TensorRow& row) { total += row.shape.NumElements(); });
  return total;
}

}  // namespace ghost
