// `ghost forward`: raw results of a model for given token ids, for scripts and debugging.
#pragma once

#include <cstdint>
#include <string>

#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct ForwardOptions {
  CommonOptions common;
  ModelOptions model;
  std::string input;
  std::string output;
  bool hidden_states = false;
  bool stepwise = false;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(input, OptionInfo{"input", "safetensors file with input_ids, I64 (B, L)", Place::kFlag, true});
    visit(output, OptionInfo{"output", "safetensors file to write: logits (B, L, V)", Place::kFlag, true});
    visit(hidden_states, OptionInfo{"hidden-states", "also hidden.{j}, hidden.final and ssm_state.{j}"});
    visit(stepwise,
          OptionInfo{"stepwise", "feed one token at a time, all sequences together, as in decoding"});
    visit(force, OptionInfo{"force", "overwrite the output"});
    common.ForEach(visit);
  }
};

struct ForwardResult {
  ForwardOptions options;
  RunRecord run;
  int64_t sequences = 0, length = 0;
  double tokens_per_second() const { return static_cast<double>(sequences * length) / run.wall_seconds; }
};

ForwardResult Forward(const ForwardOptions& options);
OrderedJson ToJson(const ForwardResult& result);

}  // namespace ghost
