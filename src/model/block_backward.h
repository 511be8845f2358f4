// One Mamba2 block backward.
#pragma once

#include <span>

#include "model/block_forward.h"
#include "model/gradients.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

// Gradients of a block's activations; one set serves all layers. Grows to the largest request.
class BackwardScratch {
 public:
  View dgated(int64_t rows, int64_t cols) { return Grow(dgated_, rows, cols); }
  View dxbc(int64_t rows, int64_t cols) { return Grow(dxbc_, rows, cols); }
  View ddt(int64_t rows, int64_t cols) { return Grow(ddt_, rows, cols); }
  View dzxbcdt(int64_t rows, int64_t cols) { return Grow(dzxbcdt_, rows, cols); }
  View dnormed(int64_t rows, int64_t cols) { return Grow(dnormed_, rows, cols); }

 private:
  Buffer dgated_, dxbc_, ddt_, dzxbcdt_, dnormed_;
};

// `input`, (T, M), `sequences` and `act` are as ForwardBlock had and left them, with chunk_states, and with y
// and gated apart where the gradient of out_proj is wanted. dhidden: (T, M), the gradient of the block's
// output, which the residual path leaves as it is. The gradient of the input is added to dinput, which is
// dhidden unless the input is another matrix than the residual stream. Adds to the gradients that are wanted.
void BackwardBlock(const MambaBlock& b, ConstView input, std::span<const SequenceSpan> sequences,
                   const BlockActivations& act, ConstView dhidden, View dinput, BackwardScratch& scratch,
                   const BlockGradients& gradients);

}  // namespace ghost
