// What the options of `ghost prune` mean for a method and a model, checked before any work begins.
#pragma once

#include "commands/prune.h"
#include "model/config.h"
#include "prune/mask.h"
#include "prune/method.h"
#include "prune/write/storage.h"

namespace ghost {

// How the result is stored, and with it among which channels may be chosen.
struct PrunePlan {
  SelectionRule selection;
  bool allocates = false;          // shares per mixer are to be measured (AllocateSparsity, AllocateStates)
  std::vector<double> sparsities;  // per mixer, if they are known already; empty: the selection's for all
  std::vector<int> whole_layers;   // that lose nothing, ascending
  StorageRule storage;
};

// Error(kUsage) for options that are out of range or exclude each other.
PrunePlan MakePlan(const PruneOptions& options, const Method& method, const ModelConfig& config);

}  // namespace ghost
