// The two halves of a mixer (model/parts/mixer_forward.h) as layer-by-layer pruning composes them.
//
// Statistics need at most the norm, x', B', C' and the step sizes: no gate, no output projection. The edited
// layer's output needs the gate and the output projection, but masking changes nothing in x', the step sizes
// and the kept B' and C', so they can be reused: together hardly more than one forward pass instead of two.
#pragma once

#include <cstdint>
#include <vector>

#include "model/parts/mixer.h"
#include "prune/layer_edit.h"
#include "prune/statistics/statistic.h"
#include "tensor/buffer.h"

namespace ghost {

// What the front half computes for the T rows of some samples.
struct MixerInputs {
  Buffer xbc;  // (T, R+2GN): x', B', C' after convolution and SiLU
  Buffer dt;   // (T, H): step sizes after softplus and clamp
};

// How much memory MixerInputs of T rows take.
int64_t MixerInputBytes(const MixerDims& dims, int64_t rows);

// The mixer with what an edit replaces. Masks are left to BackHalf.
Mixer EditedMixer(const Mixer& mixer, const LayerEdit& edit);

// Runs halves of mixers over samples of equal length, each from an empty state; owns the scratch. The rows of
// all samples of a call are one matrix, sample after sample. Results do not depend on the number of threads.
class MixerPasses {
 public:
  // x', B', C' and step sizes from normed: (T, M).
  void FrontHalf(const Mixer& m, ConstView normed, int64_t length, MixerInputs& out);
  // Feeds a statistic that needs the scan: the front half, left in `out`, then Add of `chunk` with what it
  // lacks.
  void ObserveScan(const MixerChunk& chunk, int64_t length, MixerInputs& out, LayerStatistic& statistic);
  // The recurrence over the kept channels (of B and C, before they are mapped), gate, norm, output
  // projection: hidden += mixer(normed), (T, M). With `keep_conv_bias` the dropped channels stay as the
  // constants SiLU(bias), the paper-literal reading (docs/method.md).
  void BackHalf(const Mixer& m, const MixerInputs& in, const LayerMask& mask, bool keep_conv_bias,
                int64_t length, ConstView normed, View hidden);

 private:
  // From empty states, which are discarded.
  std::vector<SequenceSpan> Sequences(const Mixer& m, int64_t rows, int64_t length);

  Buffer conv_, raw_, used_, z_, y_;
};

}  // namespace ghost
