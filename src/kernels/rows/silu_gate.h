// A matrix gated by the SiLU of another (the gated feed-forward block, a mixer's gate without a norm), and
// the gradient.
#pragma once

#include "tensor/view.h"

namespace ghost {

// out[t][r] = y[t][r] * SiLU(z[t][r]) with SiLU(v) = v / (1 + exp(-v));  all (T, R). out may be y or z (the
// same start and stride); otherwise it overlaps neither.
void SiluGate(ConstView y, ConstView z, View out);

// dy and dz, overwritten, from dout; all (T, R):
//   dy[t][r] = dout[t][r] * SiLU(z[t][r])
//   dz[t][r] = dout[t][r] * y[t][r] * SiLU'(z[t][r])
// Every place is read before it is written, so each of dy and dz may be any one of y, z and dout (the same
// start and stride). Any other overlap with an input is wrong, and dy must not overlap dz.
void SiluGateBackward(ConstView y, ConstView z, ConstView dout, View dy, View dz);

}  // namespace ghost
