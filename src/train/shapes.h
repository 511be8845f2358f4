// Small models by name, for training from scratch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

namespace ghost {

// All have heads of 64, N = 128, a convolution of width 4 and tied embeddings: `tiny` (d_model 256, 8
// layers), `tiny-g4` (the same with 4 groups), `tiny-192` (6 layers), `tiny-128` (4 layers). Unknown names
// are Error(kUsage) listing all.
ModelConfig TrainingShape(std::string_view name, int vocab_size);
bool IsTrainingShape(std::string_view name);
std::vector<std::string> TrainingShapeNames();

}  // namespace ghost
