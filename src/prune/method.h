// The table of pruning methods. Methods differ only in the score they give each state channel; one driver
// (sequential.h) does the rest, so a new method is one function and one row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "prune/mixer_passes.h"

namespace ghost {

// What a method may look at to score one layer.
struct ScoreInput {
  const MambaBlock& block;
  const LayerSaliency& saliency;  // zeros unless the method needs calibration
  int layer = 0;
  uint64_t seed = 0;
};

// One score per channel, higher stays.
using ScoreFn = std::vector<double> (*)(const ScoreInput& in);

struct Method {
  std::string_view name;
  bool needs_calibration;
  ScoreFn score;
  std::string_view help;
};

std::span<const Method> Methods();
const Method& FindMethod(std::string_view name);  // Error(kUsage) listing all when unknown

}  // namespace ghost
