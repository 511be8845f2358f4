// Gradients of a mixer.
#pragma once

#include <span>

#include "model/parts/mixer.h"
#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// What the forward pass leaves for the backward one; T rows of all sequences each.
struct MixerActivations {
  View zxbcdt;                          // (T, 2R+2GN+H): after the input projection
  View xbc;                             // (T, R+2GN): after convolution and SiLU
  View bc;                              // (T, 2 sum N_g): B and C as the scan reads them (StateInputs)
  View dt;                              // (T, H): after softplus and clamp
  View y;                               // (T, R): the scan's output
  View gated;                           // (T, R): after gate and norm
  const float* chunk_states = nullptr;  // see SsmScanChunks
};

// Gradients of the activations; one set serves all mixers. Grows to the largest request.
struct MixerBackwardScratch {
  Buffer dout, dgated, dxbc, dbc, ddt, dzxbcdt;
};

// dhidden: (T, M), the gradient of the output; dnormed: (T, M), that of the input, overwritten, or empty if
// it is not wanted. The sequences are equally long and start from zeros. Adds to the gradients that are
// wanted.
void BackwardMixer(const Mixer& m, ConstView normed, std::span<const SequenceSpan> sequences,
                   const MixerActivations& act, ConstView dhidden, View dnormed,
                   MixerBackwardScratch& scratch, const MixerGradients& gradients);

}  // namespace ghost
