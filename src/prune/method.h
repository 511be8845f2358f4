// The table of pruning methods. Methods differ only in the score they give each state channel; one driver
// (sequential.h) does the rest, so a new method is one function and one row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "prune/mixer_passes.h"

namespace ghost {

// What a method needs beside the weights.
enum class MethodNeeds {
  kNothing,
  kSaliency,   // statistics of the scan on calibration data, layer by layer
  kGradients,  // scores of all layers from a backward pass over the dense model, made beforehand (taylor.h)
};

// What a method may look at to score one layer.
struct ScoreInput {
  const MambaBlock& block;
  const LayerSaliency& saliency;  // zeros unless the method needs it
  std::span<const double> given;  // scores made beforehand, for kGradients
  int layer = 0;
  uint64_t seed = 0;
};

// One score per channel, higher stays.
using ScoreFn = std::vector<double> (*)(const ScoreInput& in);

struct Method {
  std::string_view name;
  MethodNeeds needs;
  ScoreFn score;
  std::string_view help;
};

std::span<const Method> Methods();
const Method& FindMethod(std::string_view name);  // Error(kUsage) listing all when unknown

}  // namespace ghost
