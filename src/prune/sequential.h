// Algorithm 1: score a layer on what the pruned layers below it produce, decide what it becomes, run it that
// way, continue with the next.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "prune/calibration_stream.h"
#include "prune/method.h"
#include "prune/statistics/scan_energies.h"

namespace ghost {

struct PruneRule {
  const Method* method = nullptr;
  std::string variant;  // one of the method's; empty: its first
  SelectionRule selection;
  std::vector<double> sparsities;  // per mixer, instead of the selection's; empty: one for all
  bool allocates = false;          // for methods that finish: only the sum of what mixers lose counts
  bool one_shot = false;           // scores of all layers from the dense model, the control for Algorithm 1
  bool keep_conv_bias = false;     // paper-literal: dropped channels keep their convolution bias
  uint64_t seed = 42;              // of methods that depend on one
  int64_t max_cache_bytes = CalibrationStream::kDefaultCacheBytes;
};

// The driver.
class SequentialPruner {
 public:
  // Samples may be empty for methods without calibration: Error(kUsage) otherwise. The model must outlive the
  // pruner.
  SequentialPruner(const Model& model, const Samples& samples, const PruneRule& rule);

  int next_mixer() const { return stream_.next_ordinal(); }
  int num_mixers() const { return stream_.num_mixers(); }
  bool done() const { return stream_.done(); }

  // What the method needs of the dense model; no work for those that need nothing, or when it is there
  // already. Before the first Step.
  void Prepare(const StepProgress& progress = nullptr);
  const Preparation& preparation() const { return preparation_; }

  // Scores, decides and runs the next layer. `progress` hears of the decision's steps.
  LayerOutcome Step(const StepProgress& progress = nullptr);
  // Scores the next layer once and decides for every share of channels to drop; does not run it. At most once
  // per layer, before Replay.
  std::vector<LayerOutcome> Decide(std::span<const double> sparsities,
                                   const StepProgress& progress = nullptr);
  // Runs the next layer with a decision made before (or as it is, with one_shot): the same bits without
  // scoring.
  void Replay(const LayerEdit& edit);

  // Cuts the outcomes of all mixers to their final size, if the method has left that open.
  void Finish(std::vector<LayerOutcome>& outcomes) const;

  // The output of the last layer done (or the embeddings): this process' rows of (samples * length, M).
  ConstView residual() const { return stream_.residual(); }
  int64_t first_row() const { return stream_.first_row(); }
  int64_t all_rows() const { return stream_.all_rows(); }
  // Continues from another run: its preparation, and its residual stream, this process' rows, before mixer
  // `next_mixer`.
  void Restore(Preparation preparation);
  void Restore(int next_mixer, std::span<const float> residual) { stream_.Restore(next_mixer, residual); }

 private:
  const Model& model_;
  Samples samples_;
  PruneRule rule_;
  CalibrationStream stream_;
  Preparation preparation_;
};

// Saliency of every layer of the dense model: what `ghost score` prints. Error(kUsage) without samples.
std::vector<LayerSaliency> ScoreDense(const Model& model, const Samples& samples,
                                      const std::function<void(int, int)>& progress = nullptr);

// What a method decides for every mixer when all are scored on the dense model, for each share of channels to
// drop: [mixer][share]. One pass over the samples. The rule's own shares are not used.
std::vector<std::vector<LayerOutcome>> DecideDense(const Model& model, const Samples& samples, PruneRule rule,
                                                   std::span<const double> sparsities,
                                                   const std::function<void(int, int)>& progress = nullptr);

}  // namespace ghost
