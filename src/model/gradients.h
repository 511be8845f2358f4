// Where gradients go: views shaped like the weights, walked by the same table (weights.h).
#pragma once

#include <vector>

#include "model/parts/mixer.h"
#include "tensor/view.h"

namespace ghost {

// An empty view is a gradient that is not wanted. Attention, MLP and shared blocks have none: gradients flow
// through them, but they are neither scored nor trained.
struct ModelGradients {
  View embedding;           // (V, M)
  View final_norm;          // (1, M)
  View head;                // (V, M); the embedding's own view when tied
  std::vector<View> norms;  // (1, M) each, one per step
  std::vector<MixerGradients> mixers;

  ModelGradients() = default;
  // With an empty view for every tensor.
  explicit ModelGradients(const struct ModelConfig& config);
};

}  // namespace ghost
