// Gradients of the depthwise causal convolution with SiLU (conv1d.h).
#pragma once

#include "kernels/conv/conv1d.h"
#include "tensor/view.h"

namespace ghost {

struct ConvGradients {
  View in;                // (L, C), overwritten
  float* taps = nullptr;  // (C, W), added to
  float* bias = nullptr;  // (C), added to
};

// One sequence that starts with an empty history. in: (L, C), the input of the convolution; dout: (L, C), the
// gradient of its output. With pre[t] the argument of SiLU, recomputed here, and dpre = dout * SiLU'(pre):
//   din[s]   = sum_w taps[w] * dpre[s+(W-1)-w]
//   dtaps[w] += sum_t dpre[t] * in[t-(W-1)+w]
//   dbias    += sum_t dpre[t]
// gradients.in must overlap neither in nor dout.
void CausalConvSiluBackward(ConstView in, const ConvWeights& weights, ConstView dout,
                            const ConvGradients& gradients);

}  // namespace ghost
