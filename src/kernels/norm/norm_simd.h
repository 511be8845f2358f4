// Vectorised rows of norm.h. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// out = x / sqrt(mean(x^2) + eps) * weight over `count` values; out may be x.
void RmsNormRow(const float* x, const float* weight, float eps, int64_t count, float* out);
// The same on y * SiLU(z); out may be y.
void GatedRmsNormRow(const float* y, const float* z, const float* weight, float eps, int64_t count,
                     float* out);
// RmsNormRow(y) * SiLU(z); out may be y.
void RmsNormThenGateRow(const float* y, const float* z, const float* weight, float eps, int64_t count,
                        float* out);

}  // namespace ghost
