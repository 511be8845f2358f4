// The two halves of a Mamba2 block that layer-by-layer pruning runs apart.
//
// Statistics need at most the norm, x', B', C' and the step sizes: no gate, no output projection. The edited
// layer's output needs the gate and the output projection, but masking changes nothing in x', the step sizes
// and the kept B' and C', so they can be reused: together hardly more than one forward pass instead of two.
#pragma once

#include <cstdint>
#include <vector>

#include "model/mamba_layer.h"
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
int64_t MixerInputBytes(const BlockDims& dims, int64_t rows);

// The block with what an edit replaces. Masks are left to BackHalf.
MambaBlock EditedBlock(const MambaBlock& block, const LayerEdit& edit);

// Runs halves of blocks over samples of equal length, each from an empty state; owns the scratch. The
// residual stream u of all samples of a call is one matrix, sample after sample; `input` is what the mixer
// sees: u itself, or in hybrid layers what the shared block makes of it. Results do not depend on the number
// of threads.
class MixerPasses {
 public:
  // Norm, the x, B, C and dt rows of the input projection, convolution, step sizes.
  void FrontHalf(const MambaBlock& b, ConstView input, int64_t length, MixerInputs& out);
  // Feeds a statistic that needs the scan: the front half, left in `out`, then Add.
  void ObserveScan(const MambaBlock& b, ConstView input, int64_t length, MixerInputs& out,
                   LayerStatistic& statistic);
  // Feeds a statistic that sees the normed input alone.
  void ObserveInput(const MambaBlock& b, ConstView input, LayerStatistic& statistic);
  // The recurrence over the kept channels, gate, norm, output projection: u += block(input). With
  // `keep_conv_bias` the dropped channels stay as the constants SiLU(bias), the paper-literal reading
  // (docs/method.md §5).
  void BackHalf(const MambaBlock& b, const MixerInputs& in, const LayerMask& mask, bool keep_conv_bias,
                int64_t length, ConstView input, View u);

 private:
  std::vector<SequenceSpan> Sequences(int64_t rows, int64_t length, int64_t state_floats,
                                      int64_t conv_floats);

  Scratch scratch_;
  Buffer states_, conv_states_;
};

}  // namespace ghost
