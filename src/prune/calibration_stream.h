// The residual stream of all calibration samples on its way up through the layers, dense or edited. The only
// part of pruning, with mixer_passes, that knows how a model's layers are run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"
#include "prune/layer_edit.h"
#include "prune/method.h"
#include "prune/mixer_passes.h"
#include "tensor/buffer.h"

namespace ghost {

// The results are the same to the bit for any number of threads and any cache size.
class CalibrationStream {
 public:
  // For reusing x', B', C' of an observed layer when it is run; 0 recomputes everything.
  static constexpr int64_t kDefaultCacheBytes = int64_t{2} << 30;

  // Starts with the embeddings. Without samples nothing is computed, but layers can still be counted. Ids
  // outside the vocabulary, samples of unequal length and models with a layer that has no Mamba2 mixer are
  // errors.
  CalibrationStream(const Model& model, const Samples& samples, bool keep_conv_bias = false,
                    int64_t max_cache_bytes = kDefaultCacheBytes);

  int next_layer() const { return next_layer_; }
  int num_layers() const { return model_.config().num_layers(); }
  bool done() const { return next_layer_ == num_layers(); }
  const MambaBlock& next_mixer() const;
  int64_t num_samples() const { return num_samples_; }

  // Feeds the next mixer's chunks to a statistic. At most once per layer, before Advance.
  void Observe(LayerStatistic& statistic);
  // Runs the next layer with an edit, or as it is if null. Error(kCorrupt) naming the layer when its output
  // is not finite.
  void Advance(const LayerEdit* edit);

  // The output of the last layer run (or the embeddings), (samples * length, M).
  ConstView residual() const { return residual_; }
  // Continues from another run's residual stream before layer `next_layer`.
  void Restore(int next_layer, std::span<const float> residual);

 private:
  struct Chunk {
    int64_t begin, rows;  // of the residual stream: some whole samples
    MixerInputs inputs;
    bool cached = false;
  };
  // Fills mixer_input_ with what the next mixer sees, unless that is done.
  void PrepareMixerInput();
  ConstView MixerInput(const Chunk& chunk) const;

  const Model& model_;
  bool keep_conv_bias_;
  int64_t max_cache_bytes_;
  int64_t length_ = 0, num_samples_ = 0;
  int next_layer_ = 0;
  int prepared_layer_ = -1;  // whose input is in mixer_input_
  Buffer memory_, embedded_, mixer_input_memory_;
  View residual_;
  ConstView mixer_input_;  // (samples * length, M): the residual stream itself except in hybrid layers
  Scratch scratch_;
  std::vector<Chunk> chunks_;
  MixerInputs uncached_;
  MixerPasses passes_;
};

}  // namespace ghost
