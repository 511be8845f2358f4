// `ghost score`: the saliency of every state channel of the dense model; nothing is pruned.
#pragma once

#include <string>

#include "commands/calibration_source.h"
#include "commands/options.h"

namespace ghost {

struct ScoreOptions {
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

OrderedJson Score(const ScoreOptions& options);

}  // namespace ghost
