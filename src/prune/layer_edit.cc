#include "prune/layer_edit.h"

#include <numeric>

namespace ghost {

int64_t ModelEdit::num_states() const {
  int64_t sum = 0;
  for (const LayerEdit& one : mixers)
    sum = std::accumulate(one.state_sizes.begin(), one.state_sizes.end(), sum);
  return sum;
}

double ModelEdit::DroppedShare(const ModelConfig& config) const {
  int64_t all = 0;
  for (const MixerDims& dims : config.mixers) all += dims.state_channels();
  return all == 0 ? 0.0 : static_cast<double>(all - num_states()) / static_cast<double>(all);
}

}  // namespace ghost
