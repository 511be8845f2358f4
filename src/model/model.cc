#include "model/model.h"

#include <utility>

#include "io/mapped_file.h"
#include "model/hybrid_layer.h"
#include "model/mamba_layer.h"

namespace ghost {

Model::Model(ModelConfig config, ModelWeights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {
  ForEachTensor(weights_, config_, [](const Tensor& tensor, const TensorRow& row) {
    if (!row.is_matrix) PrefetchMapped(tensor.data(), tensor.num_bytes());
  });
  std::vector<std::shared_ptr<const SharedBlock>> shared;
  for (const SharedBlockWeights& block : weights_.shared)
    shared.push_back(std::make_shared<const SharedBlock>(MakeSharedBlock(block, config_)));
  for (int layer = 0; layer < config_.num_layers(); ++layer) {
    MambaBlock block = MakeMambaBlock(weights_.blocks[static_cast<size_t>(layer)], config_, layer);
    const int q = config_.hybrid_index(layer);
    if (q < 0) {
      layers_.push_back(std::make_unique<MambaLayer>(std::move(block)));
      continue;
    }
    HybridPart part{shared[static_cast<size_t>(q) % shared.size()], weights_.hybrids[static_cast<size_t>(q)]};
    layers_.push_back(std::make_unique<HybridLayer>(std::move(block), std::move(part)));
  }
  final_norm_ = ToFloats(weights_.final_norm);
}

Model LoadModel(const Checkpoint& checkpoint, const ModelOverrides& overrides) {
  ModelConfig config = checkpoint.config;
  if (overrides.norm_grouping) config.norm_grouping = *overrides.norm_grouping;
  if (overrides.dt_min) config.dt_min = *overrides.dt_min;
  ModelWeights weights = BindWeights(checkpoint.tensors, config, checkpoint.weights);
  return Model(std::move(config), std::move(weights));
}

}  // namespace ghost
