// The table of pruning methods. A method is a statistic (what is measured in a layer), a decision (what the
// layer becomes) and facts about itself; one driver (sequential.h) does the rest. Nothing outside methods/
// asks for a method's name: what the others must know is a field here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "prune/layer_edit.h"
#include "prune/statistics/statistic.h"

namespace ghost {

// Calibration samples, all of one length.
using Samples = std::vector<std::vector<int32_t>>;

// What a method made of the dense model before the first layer: scores of all mixers; empty for most.
using Preparation = std::vector<std::vector<double>>;

// Hears how many steps of some long work are done; may throw to stop, and may be empty.
using StepProgress = std::function<void(int64_t done, int64_t total)>;

struct PrepareInput {
  const Model& model;
  const Samples& samples;
  std::string_view variant;      // one of the method's
  const StepProgress& progress;  // of samples
};

// How much data a statistic will see.
struct CalibrationSize {
  int64_t samples = 0, length = 0;
  int64_t tokens() const { return samples * length; }
};

// What a decision may look at.
struct DecisionInput {
  const Mixer& mixer;
  const MixerWeights& weights;                // the same, as stored
  const LayerStatistic* statistic = nullptr;  // what make_statistic made, fed with the layer; or null
  std::span<const double> prepared = {};      // this mixer's part of the preparation
  SelectionRule selection;
  int ordinal = 0;      // of the mixer
  int64_t samples = 0;  // that the statistic has seen
  uint64_t seed = 0;
  StepProgress progress;  // of a decision that takes long
};

// What the end of a run may look at, when all mixers have been decided.
struct FinishInput {
  const ModelConfig& config;
  SelectionRule selection;
  const std::vector<double>& sparsities;  // the share of its state that each mixer loses; 0 = it stays whole
  bool allocates = false;  // only the sum of what mixers lose counts: take more where the error is less
};

struct Method {
  std::string_view name;
  std::string_view help;  // what is dropped, by what; for help texts and docs/cli.md
  LayerOutcome (*decide)(const DecisionInput& in);
  // What is measured in each layer; null: nothing, and no data pass through the layers.
  std::unique_ptr<LayerStatistic> (*make_statistic)(const MixerDims& dims,
                                                    const CalibrationSize& size) = nullptr;
  // What is computed once from the dense model; null: nothing.
  Preparation (*prepare)(const PrepareInput& in) = nullptr;

  // Cuts edits that keep everything, with the errors of their outcomes, to size; null: `decide` did that.
  void (*finish)(const FinishInput& in, std::vector<LayerOutcome>& outcomes) = nullptr;

  bool drops_channels = true;       // false: every channel stays, so shapes stay
  bool edits_weights = false;       // replaces weights of B and C, which quantised types cannot take
  bool maps_state = false;          // maps B and C to fewer channels by new tensors instead of dropping rows
  bool seeded = false;              // depends on the seed; several seeds make sense
  bool one_shot = false;            // scores come from the dense model, whatever the driver is told
  bool score_is_squared = false;    // scores are sums of squares: draw their roots
  bool scores_have_meaning = true;  // false: scores only encode a choice and are not worth drawing
  std::span<const std::string_view> variants = {};  // the first one is the default; empty: there are none

  bool needs_calibration() const { return make_statistic != nullptr || prepare != nullptr; }
};

std::span<const Method> Methods();
const Method& FindMethod(std::string_view name);  // Error(kUsage) listing all when unknown

// The decision of methods that only score: drop the lowest.
LayerOutcome DropLowest(std::vector<double> scores, const DecisionInput& in);

}  // namespace ghost
