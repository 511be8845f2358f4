// Root-mean-square normalisation: plain, after a gate, and before a gate.
#pragma once

#include "tensor/view.h"

namespace ghost {

// out[t][m] = x[t][m] / sqrt(mean_m x[t][m]^2 + eps) * weight[m];  x, out: (T, M). out may be x.
void RmsNorm(ConstView x, const float* weight, float eps, View out);
void RmsNormRef(ConstView x, const float* weight, float eps, View out);

// Gates first, y * SiLU(z), then normalises with the mean over each of `groups` equal parts of a row (1: the
// whole row). y, z, out: (T, R); z usually is a strided view into the input projection. out may be y.
void GatedRmsNorm(ConstView y, ConstView z, const float* weight, float eps, int groups, View out);
inline void GatedRmsNorm(View y, ConstView z, const float* weight, float eps, int groups) {
  GatedRmsNorm(y, z, weight, eps, groups, y);
}
void GatedRmsNormRef(View y, ConstView z, const float* weight, float eps, int groups);

// The other order: normalises y with the mean over each of `groups` equal parts of a row, then gates. With
// mean_r over the part that holds r,
//   out[t][r] = y[t][r] / sqrt(mean_r y[t][r]^2 + eps) * weight[r] * SiLU(z[t][r])
// y, z, out: (T, R); z usually is a strided view. out may be y (the same start and stride); otherwise it
// overlaps no input.
void RmsNormThenGate(ConstView y, ConstView z, const float* weight, float eps, int groups, View out);
void RmsNormThenGateRef(ConstView y, ConstView z, const float* weight, float eps, int groups, View out);

}  // namespace ghost
