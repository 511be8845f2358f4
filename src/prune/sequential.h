// Algorithm 1: score a layer on what the pruned layers below it produce, drop its weakest states (or edit its
// weights), run it pruned, go on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/model.h"
#include "prune/mask.h"
#include "prune/method.h"

namespace ghost {

// Calibration samples, all of one length.
using Samples = std::vector<std::vector<int32_t>>;

struct PruneRule {
  const Method* method = nullptr;
  SelectionRule selection;
  bool one_shot = false;        // scores of all layers from the dense model, the control for Algorithm 1
  bool keep_conv_bias = false;  // paper-literal: dropped channels keep their convolution bias
  uint64_t seed = 42;           // of the random method
  std::vector<std::vector<double>> given_scores;  // per layer, for methods that need gradients
  int64_t max_cache_bytes = int64_t{2}
                            << 30;  // for reusing x', B', C' of the scoring pass; 0 recomputes everything
};

struct LayerOutcome {
  LayerMask mask;
  std::vector<double> scores;  // of the method, in the order g*N + i
  LayerSaliency saliency;      // zeros for methods without calibration
  Tensor state_rows;  // (2GN, M), type as stored: new weights of B and C, where the method edits them
};

// The driver. Holds the residual stream of all samples, (samples * length, M), and moves it up one layer at a
// time. The outcome is the same to the bit for any number of threads and any cache size.
class SequentialPruner {
 public:
  // Samples may be empty for methods without calibration. Ids outside the vocabulary, samples of unequal
  // length and models with a layer that has no Mamba2 mixer are errors.
  SequentialPruner(const Model& model, const Samples& samples, const PruneRule& rule);

  int next_layer() const { return next_layer_; }
  bool done() const { return next_layer_ == model_.config().num_layers(); }
  // Scores, selects and passes the next layer. Error(kCorrupt) naming it when its output is not finite.
  LayerOutcome Step();
  // The output of the last layer done (or the embeddings), (samples * length, M).
  ConstView residual() const { return residual_; }

  // Goes on where another run stopped: its residual stream before layer `next_layer`.
  void Restore(int next_layer, std::span<const float> residual);

 private:
  struct Chunk {
    int64_t begin, rows;  // of the residual stream: some whole samples
    MixerInputs inputs;
    bool cached = false;
  };
  // Fills mixer_input_ with what the mixers of a hybrid layer see; nothing to do for the others.
  void RunSharedBlock(const Layer& layer);
  // What the mixer sees of some rows of the residual stream.
  ConstView MixerInput(const Chunk& chunk) const;
  LayerSaliency Score(const MambaBlock& block);
  void Pass(const MambaBlock& block, const LayerMask& mask);
  LayerOutcome ScoreStep(const MambaBlock& block, int layer);
  LayerOutcome EditStep(const MambaBlock& block, int layer);

  const Model& model_;
  PruneRule rule_;
  int64_t length_ = 0;
  int next_layer_ = 0;
  Buffer memory_, embedded_, mixer_input_memory_;
  View residual_;
  ConstView mixer_input_;  // (samples * length, M): the residual stream itself but in hybrid layers
  Scratch scratch_;
  std::vector<Chunk> chunks_;
  MixerInputs uncached_;
  MixerPasses passes_;
};

// Saliency of every layer of the dense model: what `ghost score` prints.
std::vector<LayerSaliency> ScoreDense(const Model& model, const Samples& samples,
                                      const std::function<void(int, int)>& progress = nullptr);

}  // namespace ghost
