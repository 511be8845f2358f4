// The paper's figures from scores of state channels, with the paper's own numbers beside them.
#pragma once

#include <vector>

#include "paper/document.h"

namespace ghost {

// Scores of all channels of the dense model, per layer, group after group: static ones from the weights,
// dynamic ones from calibration data.
struct ChannelScores {
  std::vector<std::vector<double>> magnitude, ghost;
};

PaperDocument ProxyFailureFigure(const ChannelScores& scores);  // F1
PaperDocument MethodFigure(const BlockSizes& sizes);            // F2
PaperDocument CostFigure(std::vector<CostRow> measured);        // F3
PaperDocument ElbowFigure(const ChannelScores& scores);         // F6
PaperDocument HeatMapFigure(const ChannelScores& scores);       // F7

}  // namespace ghost
