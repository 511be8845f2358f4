// Depthwise causal convolution followed by SiLU: eq. 10 of the paper, step 3 of the block.
#pragma once

#include <span>

#include "kernels/scan/sequence_span.h"
#include "tensor/view.h"

namespace ghost {

struct ConvWeights {
  const float* taps = nullptr;  // (C, W): tap W-1 multiplies the current token
  const float* bias = nullptr;  // (C), may be null
  int width = 0;                // W, at least 1
};

// Within each sequence:
//   out[t][c] = SiLU(bias[c] + sum_w taps[c][w] * in[t-(W-1)+w][c])
// Inputs before the first row are read from sequence.conv, which then receives the last inputs. in, out: (T,
// C); out must not overlap in.
void CausalConvSilu(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences,
                    View out);
void CausalConvSiluRef(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences,
                       View out);

}  // namespace ghost
