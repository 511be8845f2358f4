// How much of its state each mixer loses when not all lose the same share.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/config.h"
#include "prune/mask.h"
#include "prune/method.h"

namespace ghost {

// A share to drop per mixer, by ordinal: 0 for those in `whole_layers` (layer numbers), one share for all
// others, so that the model loses `sparsity` of its state floats. Error(kUsage) for a layer without a mixer,
// and if the others would have to lose everything.
std::vector<double> SpreadSparsity(const ModelConfig& config, double sparsity,
                                   const std::vector<int>& whole_layers);

// What keeping r units of a mixer's channels costs, and what a unit is.
struct BudgetCurve {
  std::vector<double> errors;  // (units + 1): errors[r] with r units kept; the last is 0
  int64_t unit_floats = 1;     // state floats of a unit
};

// Units kept per curve, at least one each and at most `floats` in all if that can be: again and again the
// jump with the largest fall of the error per float, the first curve first among equals.
std::vector<int> AllocateUnits(std::span<const BudgetCurve> curves, int64_t floats);

// State sizes per mixer and group, from the errors of the outcomes: mixers whose sparsity is 0 stay whole,
// all others lose their own share, or, if in.allocates, together as many floats as that where the sum of
// errors grows least. A pool by group gives the groups of a mixer one size. At least a unit of channels is
// kept.
std::vector<std::vector<int>> AllocateStates(const FinishInput& in, std::span<const LayerOutcome> outcomes);

// A share to drop per mixer, such that the model loses `selection.sparsity` of its state floats where the
// layers' outputs change least: each mixer's error is the mean square of what its output loses without its
// weakest channels (statistics/output_gram.h), over that of the residual stream behind it, measured in one
// pass over the dense model. Mixers in `whole_layers` lose nothing. `progress` hears of finished mixers.
std::vector<double> AllocateSparsity(const Model& model, const Samples& samples,
                                     const SelectionRule& selection, const std::vector<int>& whole_layers,
                                     const std::function<void(int, int)>& progress = nullptr);

}  // namespace ghost
