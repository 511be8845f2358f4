// Models whose mixers and groups have different state sizes. No config.json can say that; ghost.json beside
// the weights does: "storage": "ragged", and the kept channels of every group of mixer i as layers[i].kept;
// or "storage": "mapped", and as many state channels as layers[i].state_sizes says, to which tensors of the
// mixer map B and C.
#pragma once

#include <string>

#include "base/json.h"
#include "model/config.h"

namespace ghost {

inline constexpr const char* kGhostFile = "ghost.json";

// Whether a ghost.json says that the tensors beside it are ragged or mapped.
bool IsRagged(const Json& ghost, const std::string& file);

// Puts the state sizes that `ghost` lists into `config`. Layers, groups and indices are checked here
// (kCorrupt), that the tensors have these sizes by BindWeights.
void ApplyRaggedSizes(const Json& ghost, const std::string& file, ModelConfig& config);

}  // namespace ghost
