// Scores of state channels as pictures: figures 6 and 7, of the paper's runs and of any pruned model.
#pragma once

#include <string>
#include <vector>

#include "analysis/elbow.h"

namespace ghost {

// Figure 7. `scores` per layer, over the layer's maximum; `kept` as HeatMap::marked, empty where nothing was
// dropped.
std::string DrawScoreMap(std::vector<std::vector<double>> scores, std::vector<std::vector<bool>> kept);

// Figure 6, with the elbow marked.
std::string DrawSortedScores(const Elbow& elbow);

}  // namespace ghost
