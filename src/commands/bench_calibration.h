// What pruning costs: every method over the same tokens, beside one dense forward pass over them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"

namespace ghost {

struct CalibrationBench {
  std::string methods;  // comma-separated names of prune/method.h
  int64_t samples = 8;
  int64_t length = 1024;
  int repeats = 1;
};

// What one method took, or the forward pass.
struct CalibrationCost {
  std::string method;
  std::vector<double> seconds;              // of every repeat
  double seconds_best = 0.0;                // the shortest of them
  std::optional<double> tokens_per_second;  // nothing for methods that read no tokens
  double times_forward = 0.0;               // best against the best of the forward pass
  int64_t peak_anonymous_bytes = 0;
};

// One row per method, the forward pass first (layers only, without the head, which GHOST does not need).
// Within a repeat all take turns, so that a busy moment of the machine hits all of them. Nothing is written.
std::vector<CalibrationCost> BenchCalibration(const Model& model, const CalibrationBench& what);

}  // namespace ghost
