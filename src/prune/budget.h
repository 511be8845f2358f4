// How much of its state each mixer loses when not all lose the same share.
#pragma once

#include <vector>

#include "model/config.h"

namespace ghost {

// A share to drop per mixer, by ordinal: 0 for those in `whole_layers` (layer numbers), one share for all
// others, so that the model loses `sparsity` of its state floats. Error(kUsage) for a layer without a mixer,
// and if the others would have to lose everything.
std::vector<double> SpreadSparsity(const ModelConfig& config, double sparsity,
                                   const std::vector<int>& whole_layers);

}  // namespace ghost
