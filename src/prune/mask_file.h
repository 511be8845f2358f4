// Masks as files: what a person can read, change and feed back.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "prune/layer_edit.h"

namespace ghost {

// Reads `layers` of a ghost.json, or a file of the same form: a list with one object per layer of the model,
// {"layer": j, "kept": [[indices of group 0, ascending], ...], "scores": [[...], ...]}. Scores may be absent
// (zeros then). Error(kCorrupt) naming the layer for anything that does not fit the model.
std::vector<LayerOutcome> LoadMask(const std::string& path, const ModelConfig& config);

}  // namespace ghost
