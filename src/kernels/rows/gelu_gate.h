// The gated GELU of a feed-forward block, and its gradient.
#pragma once

#include "tensor/view.h"

namespace ghost {

// out[t][f] = gelu(in[t][f]) * in[t][F + f];  in: (T, 2F), out: (T, F). gelu(x) = x * Phi(x) with the normal
// distribution's Phi(x) = (1 + erf(x / sqrt(2))) / 2: the exact form, not the tanh approximation. The error
// of gelu is below 4e-7 * max(|gelu(x)|, 1e-30), so the left tail is accurate too. out overlaps nothing, or
// is the first half of in.
void GeluGate(ConstView in, View out);

// din: (T, 2F), overwritten, from dout: (T, F):
//   din[t][f]     = dout[t][f] * in[t][F + f] * gelu'(in[t][f])
//   din[t][F + f] = dout[t][f] * gelu(in[t][f])
// with gelu'(x) = Phi(x) + x * exp(-x^2 / 2) / sqrt(2 pi). din may be in.
void GeluGateBackward(ConstView in, ConstView dout, View din);

}  // namespace ghost
