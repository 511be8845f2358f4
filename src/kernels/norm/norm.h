// Root-mean-square normalisation, plain and gated.
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

}  // namespace ghost
