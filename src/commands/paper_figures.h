// The data of the paper's figures, as documents that report/paper_figures.h draws.
#pragma once

#include <string>

#include "base/json.h"
#include "commands/paper_results.h"

namespace ghost {

// F1, F6 and F7 look at the scores of all channels of the dense model: static ones from the weights, dynamic
// ones from a calibration run, which is kept beside the other results.
struct ChannelScores {
  std::vector<std::vector<double>> magnitude, ghost;  // per layer, group after group
};
ChannelScores LoadChannelScores(const PaperModel& model, const PaperResults& results);

OrderedJson ProxyFailureFigure(const ChannelScores& scores);  // F1
OrderedJson MethodFigure(const PaperModel& model);            // F2
OrderedJson ElbowFigure(const ChannelScores& scores);         // F6
OrderedJson HeatMapFigure(const ChannelScores& scores);       // F7

// F3: time and memory of pruning, measured once and kept beside the other results.
OrderedJson CostFigure(const PaperModel& model, const PaperResults& results);

// F4 and F5: a table (T3, T5) as a picture.
OrderedJson TableFigure(const OrderedJson& table);

}  // namespace ghost
