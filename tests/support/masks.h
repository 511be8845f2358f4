// Masks for tests of pruning.
#pragma once

#include "base/rng.h"
#include "prune/mask.h"

namespace ghost {

// Keeps about half of the channels, unevenly spread: groups keep different numbers. With `empty_group` the
// last group of the last layer keeps none.
inline StateMask UnevenMask(const ModelConfig& config, uint64_t seed, bool empty_group = false) {
  Rng rng(seed);
  StateMask mask;
  for (const MixerDims& dims : config.mixers) {
    LayerMask layer;
    for (int g = 0; g < dims.num_groups(); ++g) {
      layer.kept.emplace_back();
      const double share = 0.2 + 0.6 * g / dims.num_groups();
      for (int i = 0; i < dims.group_size(g); ++i) {
        if (rng.Uniform(0.0, 1.0) < share) layer.kept.back().push_back(i);
      }
    }
    mask.mixers.push_back(layer);
  }
  if (empty_group) mask.mixers.back().kept.back().clear();
  return mask;
}

// Keeps `keep` channels of every group, not always the same ones.
inline StateMask EvenMask(const ModelConfig& config, int keep) {
  StateMask mask;
  for (size_t j = 0; j < config.mixers.size(); ++j) {
    LayerMask layer;
    for (int g = 0; g < config.mixers[j].num_groups(); ++g) {
      const int N = config.mixers[j].group_size(g), offset = static_cast<int>(j) + g;
      layer.kept.emplace_back();
      for (int i = 0; i < keep; ++i) layer.kept.back().push_back((i * N + offset % (N / keep)) / keep);
    }
    mask.mixers.push_back(layer);
  }
  return mask;
}

}  // namespace ghost
