// Vectorised rows of silu_gate.h. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// out[i] = y[i] * SiLU(z[i]) for `count` values; out may be y or z.
void SiluGateRow(const float* y, const float* z, int64_t count, float* out);
// dy and dz may each be one of the inputs.
void SiluGateBackwardRow(const float* y, const float* z, const float* dout, int64_t count, float* dy,
                         float* dz);

}  // namespace ghost
