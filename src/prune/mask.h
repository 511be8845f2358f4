// Which state channels stay: the small value that pruning decides and writing obeys.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/config.h"

namespace ghost {

// The kept channels of one layer: per group the original indices within the group, ascending.
struct LayerMask {
  std::vector<std::vector<int>> kept;  // (G)(N_g kept)

  int num_kept() const;
  // Positions in the pooled order g*N + i of a layer with these groups, ascending.
  std::vector<int> Channels(std::span<const int> group_begin) const;
};

// One entry per mixer of the model, by ordinal.
struct StateMask {
  std::vector<LayerMask> mixers;
};

LayerMask KeepAll(const MixerDims& dims);
// The same for the channels of B and C, which are others than the state's if these are mapped.
LayerMask KeepAllInputs(const MixerDims& dims);
// Whether a mask has the groups of a layer, and in each ascending indices inside the group.
bool IsMaskOf(const LayerMask& mask, const MixerDims& dims);

// Among which channels the lowest scores are dropped.
enum class PoolScope {
  kLayer,  // all groups of a layer together: groups may keep different numbers (the paper's inter-group
           // thresholding)
  kGroup,  // each group by itself: every group keeps the same number
};
PoolScope PoolScopeFromName(std::string_view name);  // "layer" or "group"; Error(kUsage) otherwise

struct SelectionRule {
  double sparsity = 0.5;  // kappa in [0, 1]: the share of a pool that is dropped
  PoolScope pool = PoolScope::kLayer;
  int multiple =
      1;  // the kept number of a pool is rounded to the nearest multiple (ties up, at least one multiple)
};

// floor(kappa * pool + 1e-9), then rounded so that what is kept is a multiple.
int NumPruned(const SelectionRule& rule, int pool_size);

// Drops exactly NumPruned of the lowest scores of each pool; ties go by lower index first, -0 equals 0, NaN
// is an Error(kCorrupt) naming layer and channel. `scores` has one value per channel in the order of
// group_begin. Kappa 0 keeps all.
LayerMask SelectStates(std::span<const double> scores, const MixerDims& dims, const SelectionRule& rule,
                       int layer);

}  // namespace ghost
