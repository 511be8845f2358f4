// A document of schema ghost.eval, read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/pruning_record.h"

namespace ghost {

struct EvalTaskResult {
  std::string task;
  std::string variant;  // empty: it has none
  std::optional<int64_t> max_length;
  std::map<std::string, double> metrics;                    // those that were measured, by name
  std::vector<std::pair<std::string, double>> by_distance;  // accuracy of recall
};

struct EvalDocument {
  std::string model_path, content_hash;
  std::optional<PruningRecord> pruning;  // nothing: not pruned
  std::optional<int64_t> state_bytes;    // per sequence
  std::string data, input;               // options
  int64_t limit = 0;
  std::vector<EvalTaskResult> results;
};

// One that is not as its schema says is an Error or a Json::exception.
EvalDocument ReadEvalDocument(const Json& document);

}  // namespace ghost
