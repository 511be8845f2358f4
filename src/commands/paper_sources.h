// What `ghost reproduce` asks of the other commands: models, scores and measurements for paper/.
#pragma once

#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"
#include "paper/figures.h"
#include "paper/results.h"

namespace ghost {

// A model as a command loads it, and as the tables know it.
struct SourceModel {
  ModelOptions options;
  ModelIdentity identity;
  PaperModel paper;
};

// Opens a model to see what it is; its weights are not read.
SourceModel DescribeSourceModel(const ModelOptions& options);

// Options of ghost prune and ghost eval that are the same for all measurements.
struct MeasuringOptions {
  std::string norm_groups = "auto";
  double dt_min = -1.0;
  std::string data;
  std::string tokenizer;  // for checkpoints without one
  std::string bos = "none";
  int prefix_token = -1;
  bool allow_code_execution = false;
};

// Prunes and evaluates by the commands of this folder.
PaperActions MakePaperActions(const MeasuringOptions& options);

// F1, F6 and F7. Dynamic scores come from `ghost score`, whose output is kept beside the other results.
ChannelScores LoadChannelScores(const SourceModel& model, const std::string& tokenizer,
                                const PaperResults& results);

// F2.
BlockSizes LoadBlockSizes(const SourceModel& model);

// F3: what `ghost bench --calibration` measures, once, kept beside the other results.
std::vector<CostRow> MeasureCosts(const SourceModel& model, const PaperResults& results);

}  // namespace ghost
