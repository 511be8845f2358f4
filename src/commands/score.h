// `ghost score`: the saliency of every state channel of the dense model; nothing is pruned.
#pragma once

#include <string>
#include <vector>

#include "commands/calibration_source.h"
#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct ScoreOptions {
  static constexpr bool kRunsInTeam = true;
  CommonOptions common;
  ModelOptions model;
  CalibrationOptions calibration;
  std::string output;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    calibration.ForEach(visit);
    visit(output,
          OptionInfo{"output", "safetensors file to write: ghost.S.{j}, ghost.P.{j}, ghost.Q.{j}, F64 (G, N)",
                     Place::kFlag, true});
    visit(force, OptionInfo{"force", "overwrite the output"});
    common.ForEach(visit);
  }
};

// How the scores of one layer are distributed: the more uneven, the more can be pruned.
struct ScoreSummary {
  int layer = 0;
  double min = 0.0, median = 0.0, max = 0.0;
  double share_of_lower_half = 0.0;  // of the total, in the weaker half of the channels
};

struct ScoreResult {
  ScoreOptions options;
  RunRecord run;
  OrderedJson calibration;  // what the samples are: CalibrationData::described
  std::vector<ScoreSummary> layers;
};

ScoreResult Score(const ScoreOptions& options);
OrderedJson ToJson(const ScoreResult& result);

}  // namespace ghost
