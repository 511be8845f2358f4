// The two halves of a Mamba2 block that layer-by-layer pruning runs apart.
//
// Scoring needs only x', B', C' and the step sizes: no gate, no output projection. The pruned layer's output
// needs the gate and the output projection, but masking changes nothing in x', the step sizes and the kept B'
// and C', so they can be reused: together hardly more than one forward pass instead of two.
#pragma once

#include <cstdint>
#include <vector>

#include "model/mamba_layer.h"
#include "prune/mask.h"
#include "prune/methods/sparsegpt.h"
#include "tensor/buffer.h"

namespace ghost {

// What the front half computes for the T rows of some samples.
struct MixerInputs {
  Buffer xbc;  // (T, R+2GN): x', B', C' after convolution and SiLU
  Buffer dt;   // (T, H): step sizes after softplus and clamp
};

// How much memory MixerInputs of T rows take.
int64_t MixerInputBytes(const BlockDims& dims, int64_t rows);

// Saliency sums of one layer, one value per state channel in the order g*N + i; raw sums (no root, no 1/Z).
struct LayerSaliency {
  std::vector<double> s;  // sum of (state * C')^2: eq. 4 under the root
  std::vector<double> p;  // sum of state^2: controllability alone
  std::vector<double> q;  // sum of C'^2: observability alone, each token once

  explicit LayerSaliency(int channels = 0)
      : s(static_cast<size_t>(channels)),
        p(static_cast<size_t>(channels)),
        q(static_cast<size_t>(channels)) {}
};

// Runs halves of blocks over samples of equal length, each from an empty state; owns the scratch. The
// residual stream u of all samples of a call is one matrix, sample after sample; `input` is what the mixer
// sees: u itself, or in hybrid layers what the shared block makes of it. Results do not depend on the number
// of threads.
class MixerPasses {
 public:
  // Norm, the x, B, C and dt rows of the input projection, convolution, step sizes.
  void FrontHalf(const MambaBlock& b, ConstView input, int64_t length, MixerInputs& out);
  // Adds what the input projection sees.
  void AddMoments(const MambaBlock& b, ConstView input, InputMoments& moments);
  // Runs the recurrence on `in` and adds to `saliency`: to `p` only if `state_energy`.
  void AddSaliency(const MambaBlock& b, const MixerInputs& in, int64_t rows, int64_t length,
                   bool state_energy, LayerSaliency& saliency);
  // The recurrence over the kept channels, gate, norm, output projection: u += block(input). With
  // `keep_conv_bias` the dropped channels stay as the constants SiLU(bias), the paper-literal reading of
  // method.md §5.
  void BackHalf(const MambaBlock& b, const MixerInputs& in, const LayerMask& mask, bool keep_conv_bias,
                int64_t length, ConstView input, View u);

 private:
  std::vector<SequenceSpan> Sequences(int64_t rows, int64_t length, int64_t state_floats,
                                      int64_t conv_floats);

  Scratch scratch_;
  Buffer states_, conv_states_;
};

}  // namespace ghost
