// The static score of figure 1, which needs no data.
#pragma once

#include <vector>

#include "model/parts/mixer.h"

namespace ghost {

// sqrt(|W_B row| |W_C row|) per state channel, in the order g*N + i.
std::vector<double> MagnitudeScores(const Mixer& block);

}  // namespace ghost
