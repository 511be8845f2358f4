// Python beside the weights: models that no class of the transformers library can load bring one of ours
// (Family::remote_code), and three keys of config.json that lead the library to it:
//   auto_map           the class, which AutoModelForCausalLM uses if told to trust remote code
//   ghost_state_sizes  a list per mixer with the state size of every group
//   ghost_state_maps   whether maps reduce B and C to these sizes after the convolution
// The keys are for that class alone; ghost reads the sizes from ghost.json (ragged.h).
#pragma once

#include <string>

#include "checkpoint/family.h"
#include "model/config.h"

namespace ghost {

// The code for a model of this family and layout; null: only ghost loads what transformers_class cannot.
const RemoteCode* RemoteCodeFor(const ModelConfig& config);

// The text of a config.json with the three keys for `config`, in place of any it has. Every other byte stays.
std::string AddRemoteCode(std::string text, const RemoteCode& code, const ModelConfig& config,
                          const std::string& file);

// The text without the three keys, of whichever of our classes; an auto_map of somebody else stays.
std::string RemoveRemoteCode(std::string text, const std::string& file);

}  // namespace ghost
