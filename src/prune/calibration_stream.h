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

// Stops before every mixer, in their order; steps without a mixer are run on the way. The results are the
// same to the bit for any number of threads, any cache size and any number of processes: those of a team
// (base/team.h) share the chunks, and each holds only its own rows. All of them make the same calls.
class CalibrationStream {
 public:
  // For reusing x', B', C' of an observed mixer when it is run; 0 recomputes everything.
  static constexpr int64_t kDefaultCacheBytes = int64_t{2} << 30;

  // Starts with the embeddings. Without samples nothing is computed, but mixers can still be counted. Ids
  // outside the vocabulary and samples of unequal length are errors.
  CalibrationStream(const Model& model, const Samples& samples, bool keep_conv_bias = false,
                    int64_t max_cache_bytes = kDefaultCacheBytes);

  int next_ordinal() const { return next_ordinal_; }
  int num_mixers() const { return model_.config().num_mixers(); }
  bool done() const { return next_ordinal_ == num_mixers(); }
  const Mixer& next_mixer() const;
  int64_t num_samples() const { return num_samples_; }  // of the whole team

  // Feeds the next mixer's chunks to a statistic and combines it. At most once per mixer, before Advance.
  void Observe(LayerStatistic& statistic);
  // Runs the next mixer's step with an edit, or as it is if null. Error(kCorrupt) naming the layer when its
  // output is not finite.
  void Advance(const LayerEdit* edit);
  // Runs all that is left, mixers as they are. Returns what the head reads, the final norm of the residual
  // stream: (rows, M) like residual(), valid until the next call.
  ConstView Finish();

  // The residual stream after the step of the last mixer run (or the embeddings): this process' rows of the
  // (samples * length, M) of all.
  ConstView residual() const { return residual_; }
  int64_t first_row() const { return first_row_; }
  int64_t all_rows() const { return num_samples_ * length_; }
  double MeanSquare() const;  // of the rows of the whole team: the mean of |u|^2
  // Continues from another run's residual stream, this process' rows, after mixer `next_ordinal` - 1.
  void Restore(int next_ordinal, std::span<const float> residual);

 private:
  struct Chunk {
    int64_t begin, rows;  // of residual_: some whole samples
    ChunkPlace place;
    MixerInputs inputs;
    bool cached = false;
  };
  const Step& next_step() const { return model_.StepOfMixer(next_ordinal_); }
  // calls body(chunk, pass) for every chunk.
  template <class Body>
  void ForEachChunk(Body body);
  // Runs the steps that have not been run, up to the one with this number; none of them has a mixer.
  void RunStepsBefore(int number);
  // Runs the steps before the next mixer's, and fills input_ with what that one's norm reads, unless that is
  // done.
  void Prepare();
  ConstView Normed(const Chunk& chunk);

  const Model& model_;
  bool keep_conv_bias_;
  int64_t max_cache_bytes_;
  int64_t length_ = 0, num_samples_ = 0, first_row_ = 0;
  int next_ordinal_ = 0;
  int next_step_ = 0;      // the first step that has not been run
  bool prepared_ = false;  // input_ is that of the next mixer's step
  Buffer memory_, embedded_, input_memory_, final_;
  View residual_;
  ConstView input_;  // as residual_: the residual stream, or what an input part makes of it
  Workspace workspace_;
  std::vector<Chunk> chunks_;
  MixerInputs uncached_;
  MixerPasses passes_;
};

}  // namespace ghost
