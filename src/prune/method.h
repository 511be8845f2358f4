// The table of pruning methods. Methods differ only in the score they give each state channel (or, without a
// score, in what they do to the weights of B and C); one driver (sequential.h) does the rest, so a new method
// is one function and one row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "prune/methods/sparsegpt.h"
#include "prune/mixer_passes.h"

namespace ghost {

// What a method needs beside the weights.
enum class MethodNeeds {
  kNothing,
  kSaliency,   // output energies of the scan on calibration data, layer by layer
  kEnergies,   // state energies too, which cost the scan half as much again
  kGradients,  // scores of all layers from a backward pass over the dense model, made beforehand (taylor.h)
  kInputs,     // second moments of the mixer's inputs on calibration data, layer by layer
};

// What a method may look at to score one layer.
struct ScoreInput {
  const MambaBlock& block;
  const LayerSaliency& saliency;  // zeros where the method does not need it
  std::span<const double> given;  // scores made beforehand, for kGradients
  int layer = 0;
  uint64_t seed = 0;
};

// One score per channel, higher stays.
using ScoreFn = std::vector<double> (*)(const ScoreInput& in);

// What a method that drops single weights instead of channels does to w: (2GN, M), the rows of B and C, in
// place.
struct EditInput {
  const InputMoments& moments;
  double sparsity = 0.0;
  int64_t samples = 0;
};
using EditFn = void (*)(const EditInput& in, View w);

// Either `score` or `edit` is set.
struct Method {
  std::string_view name;
  MethodNeeds needs;
  ScoreFn score;
  std::string_view help;
  EditFn edit = nullptr;
};
// Whether a method runs the calibration samples through the layers.
inline bool NeedsLayerPasses(const Method& method) {
  return method.needs != MethodNeeds::kNothing && method.needs != MethodNeeds::kGradients;
}

std::span<const Method> Methods();
const Method& FindMethod(std::string_view name);  // Error(kUsage) listing all when unknown

}  // namespace ghost
