// How a model was pruned: the `pruning` object of ghost.json, which results of a pruned model repeat.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace ghost {

struct PruningRecord {
  std::string model;               // content hash of the unpruned model; empty where it is not said
  std::string method;              // its name, for people
  std::string variant;             // of the method, or empty
  std::string mask_file;           // the list it was pruned by, without folders; empty: chosen by the method
  std::optional<double> sparsity;  // nothing for a list
  std::string calibration;         // "64 x 512 tokens of books.txt", or empty
  std::string pool;                // "layer" or "group"
  bool one_shot = false;
  bool conv_bias_kept = false;
  std::string healing;  // "300 steps, teacher weight 0.9", or empty: not trained since
  // What the method is like. Records of older versions do not say.
  bool scores_have_meaning = true;  // false: scores only encode a choice
  bool always_one_shot = false;     // scores the dense model, whatever was asked for
  bool score_is_squared = false;    // the root of a stored score is the score of equation 4

  bool by_list() const { return !mask_file.empty(); }
};

// What is not as it should be is a Json::exception.
PruningRecord ReadPruningRecord(const Json& pruning);

}  // namespace ghost
