// README.md of a pruned checkpoint: what it is, what it was, how it was made, who can run it.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "model/config.h"
#include "prune/layer_edit.h"
#include "prune/write/storage.h"

namespace ghost {

struct ModelCardFacts {
  std::string base_model;   // as the user named it; only its last part is printed, never a path
  std::string method;       // "ghost", "magnitude", ...
  double sparsity = 0.0;    // asked for
  std::string calibration;  // what the scores were computed on, e.g. "128 x 2048 tokens of wiki.train.raw"
  ModelConfig before;
  ModelConfig after;  // PrunedConfig
  ModelEdit edit;
  bool drops_channels = true;   // false: single weights of B and C were dropped
  std::set<std::string> added;  // ends of the names of tensors that mixers have gained
  Storage storage = Storage::kUniform;
  std::optional<double> perplexity_before, perplexity_after;
  std::string perplexity_note;  // on what and how it was measured
  std::string command;          // the command line
  std::string try_command;      // one that runs the result, which it calls PATH; empty = none
  std::string ghost_version;
};

std::string MakeModelCard(const ModelCardFacts& facts);

}  // namespace ghost
