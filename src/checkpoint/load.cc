#include "checkpoint/load.h"

#include <limits>
#include <utility>

#include "checkpoint/bind.h"
#include "io/mapped_file.h"

namespace ghost {

Model LoadModel(const Checkpoint& checkpoint, const ModelOverrides& overrides) {
  ModelConfig config = checkpoint.config;
  for (MixerDims& dims : config.mixers) {
    if (overrides.norm_grouping) dims.norm_grouping = *overrides.norm_grouping;
    if (!overrides.dt_min) continue;
    dims.dt_min = *overrides.dt_min;
    dims.dt_max = std::numeric_limits<float>::infinity();
  }
  ModelWeights weights = BindWeights(checkpoint.tensors, config, checkpoint.weights);
  ForEachTensor(weights, config, [](const Tensor& tensor, const TensorRow& row) {
    if (!row.is_matrix) PrefetchMapped(tensor.data(), tensor.num_bytes());  // Model copies them
  });
  return Model(std::move(config), std::move(weights));
}

}  // namespace ghost
