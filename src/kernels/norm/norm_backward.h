// Gradients of norm.h, and of the step size's softplus and clamp (ssm_scan.h).
#pragma once

#include "tensor/view.h"

namespace ghost {

// Adds the gradient of RmsNorm(x, weight), whose output has gradient dy. With rho = sqrt(mean(x^2) + eps):
//   dx[m]      += (weight[m] * dy[m] - x[m] / rho * mean(weight * dy * x / rho)) / rho
//   dweight[m] += sum_t dy[m] * x[m] / rho
// x, dy, dx: (T, M); dweight: (M), null if not needed. Sums over t are taken over pieces of 64 rows first, so
// they do not depend on the number of threads.
void RmsNormBackward(ConstView x, const float* weight, float eps, ConstView dy, View dx,
                     float* dweight = nullptr);

// Gradients of GatedRmsNorm, whose inputs were y (before gate and norm) and z and whose output has gradient
// dout: overwrites dy and dz, adds to dweight. All (T, R); dy may be dout, dz overlaps nothing else.
struct GatedNormGradients {
  View y, z;
  float* weight = nullptr;  // (R), added to; null if not needed
};
void GatedRmsNormBackward(ConstView y, ConstView z, const float* weight, float eps, int groups,
                          ConstView dout, const GatedNormGradients& gradients);

// The same for RmsNormThenGate. With rho = sqrt(mean(y^2) + eps) and the means over each part of a row:
//   dn[r]       = weight[r] * dout[r] * SiLU(z[r])
//   dy[r]       = (dn[r] - y[r] / rho * mean(dn * y / rho)) / rho
//   dz[r]       = dout[r] * weight[r] * y[r] / rho * SiLU'(z[r])
//   dweight[r] += sum_t dout[r] * y[r] / rho * SiLU(z[r])
// All (T, R); dy may be dout, dz overlaps nothing else. Sums over t are taken as in RmsNormBackward.
void RmsNormThenGateBackward(ConstView y, ConstView z, const float* weight, float eps, int groups,
                             ConstView dout, const GatedNormGradients& gradients);

// draw[t][h] = ddt[t][h] * sigmoid(raw[t][h] + bias[h]), and 0 where the clamp to [low, high] is active.
// All (T, H); draw may be ddt.
void SoftplusClampBackward(ConstView raw, const float* bias, float low, float high, ConstView ddt, View draw);

}  // namespace ghost
