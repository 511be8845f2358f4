// The squared rectifier, the activation of some feed-forward blocks without a gate, and its gradient.
#pragma once

#include "tensor/view.h"

namespace ghost {

// out[t][f] = max(in[t][f], 0)^2;  both (T, F). NaN stays NaN. out may be in, else they do not overlap.
void SquaredRelu(ConstView in, View out);

// din[t][f] = dout[t][f] * 2 max(in[t][f], 0), overwritten;  all (T, F). din may be dout or in, else it
// overlaps neither.
void SquaredReluBackward(ConstView in, ConstView dout, View din);

}  // namespace ghost
