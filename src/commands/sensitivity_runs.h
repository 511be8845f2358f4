// Runs a model as it is and with one mixer edited at a time, over the same tokens, and scores what it
// predicts. Here, because it joins the residual stream of src/prune with the scores of src/eval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "eval/predictions.h"
#include "model/model.h"
#include "prune/layer_edit.h"

namespace ghost {

// A text to read from an empty state, and what to predict on the way; rows are places in `tokens`.
struct Probe {
  std::vector<int32_t> tokens;  // at least one
  std::vector<Prediction> predictions;
};

// What one run changes.
struct MixerEdit {
  int ordinal = 0;  // of the mixer
  LayerEdit edit;
};

// Hears the scores of a probe, in the order of its predictions. Run 0 is the dense model, run i + 1 that with
// edits[i], whose scores also have the divergence from the dense model.
using ProbeObserver = std::function<void(size_t run, size_t probe, std::span<const PredictionScore> scores)>;

// `edits` ascend by ordinal. A few probes run at a time, all edits on each: the dense residual stream climbs
// from mixer to mixer, and every edit branches off before its own, so that an edit costs the layers from its
// mixer on and memory does not depend on the number of probes. Each run sees the probes in order; results do
// not depend on the number of threads. `progress(done, total)` counts passes, and may throw to stop.
void RunEdits(const Model& model, std::span<const Probe> probes, std::span<const MixerEdit> edits,
              const ProbeObserver& observe, const std::function<void(int64_t, int64_t)>& progress = nullptr);

}  // namespace ghost
