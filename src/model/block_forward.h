// One Mamba2 block forward, with what it computes on the way left where the caller wants it.
#pragma once

#include <span>

#include "kernels/scan/sequence_span.h"
#include "kernels/scan/ssm_scan.h"
#include "model/layer.h"
#include "model/mamba_layer.h"
#include "tensor/view.h"

namespace ghost {

// Where the steps of a block leave their results; T rows of all sequences each. Inference reuses one set for
// all layers, training keeps one per layer for the backward pass.
struct BlockActivations {
  View normed;                    // (T, M): after the norm
  View zxbcdt;                    // (T, 2R+2GN+H): after the input projection
  View xbc;                       // (T, R+2GN): after convolution and SiLU
  View dt;                        // (T, H): after softplus and clamp
  View y;                         // (T, R): the scan's output
  View gated;                     // (T, R): after gate and norm; may be y, whose values are then gone
  float* chunk_states = nullptr;  // see SsmScanChunks; null where no backward pass follows
};

// Inference keeps nothing: the activations of one layer after the other stand in `scratch`.
BlockActivations ScratchActivations(Scratch& scratch, const BlockDims& dims, int64_t rows);

// Fills `act` from input: (T, M), what the block's norm sees: the residual stream, and in hybrid layers what
// a shared block adds to it. `sequences` partition its rows and carry this layer's states; with chunk_states
// they are equally long. `stats` may be null and needs chunk_states to be null.
void ForwardMixer(const MambaBlock& b, ConstView input, std::span<const SequenceSpan> sequences,
                  const BlockActivations& act, const ScanStats* stats = nullptr);

// The same, then the output projection is added to hidden, (T, M), in place. `input` may be hidden.
void ForwardBlock(const MambaBlock& b, ConstView input, View hidden, std::span<const SequenceSpan> sequences,
                  const BlockActivations& act, const ScanStats* stats = nullptr);

}  // namespace ghost
