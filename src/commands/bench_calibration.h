// What pruning costs: every method over the same tokens, beside one dense forward pass over them.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "model/model.h"

namespace ghost {

struct CalibrationBench {
  std::string methods;  // comma-separated names of prune/method.h
  int64_t samples = 8;
  int64_t length = 1024;
  int repeats = 1;
};

// One row per method, the forward pass first: seconds of every repeat, tokens per second, times the forward
// pass (best against best; layers only, without the head, which GHOST does not need), peak of anonymous
// memory. Within a repeat all take turns, so that a busy moment of the machine hits all of them. Nothing is
// written.
OrderedJson BenchCalibration(const Model& model, const CalibrationBench& what);

}  // namespace ghost
