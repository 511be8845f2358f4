#include "model/model.h"

#include <utility>

#include "io/mapped_file.h"
#include "model/mamba_layer.h"

namespace ghost {

Model::Model(ModelConfig config, ModelWeights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {
  ForEachTensor(weights_, config_, [](const Tensor& tensor, const TensorRow& row) {
    if (!row.is_matrix) PrefetchMapped(tensor.data(), tensor.num_bytes());
  });
  for (int layer = 0; layer < config_.num_layers(); ++layer) {
    const BlockWeights& block = weights_.blocks[static_cast<size_t>(layer)];
    layers_.push_back(std::make_unique<MambaLayer>(MakeMambaBlock(block, config_, layer)));
  }
  final_norm_ = ToFloats(weights_.final_norm);
}

Model LoadModel(const Checkpoint& checkpoint, std::optional<NormGrouping> grouping) {
  ModelConfig config = checkpoint.config;
  if (grouping) config.norm_grouping = *grouping;
  ModelWeights weights = BindWeights(checkpoint.tensors, config, checkpoint.weights);
  return Model(std::move(config), std::move(weights));
}

}  // namespace ghost
