// A document of schema ghost.prune, read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/pruning_record.h"

namespace ghost {

// The channels of a layer, its groups one after the other.
struct PrunedLayer {
  int layer = 0;
  std::vector<double> scores;  // empty where nothing was scored
  std::vector<bool> kept;
  int64_t state_size = 0;  // channels of the state after pruning, all groups together
};

struct PruneDocument {
  std::string model_path;
  PruningRecord pruning;
  double state_bytes_before = 0.0, state_bytes_after = 0.0;
  std::vector<std::string> advice;
  std::vector<PrunedLayer> layers;
};

// One that is not as its schema says is an Error or a Json::exception.
PruneDocument ReadPruneDocument(const Json& document);

}  // namespace ghost
