// Vectorised rows of squared_relu.h. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// out[i] = max(in[i], 0)^2 for `count` values; out may be in.
void SquaredReluRow(const float* in, int64_t count, float* out);
// din[i] = dout[i] * 2 max(in[i], 0); din may be dout or in.
void SquaredReluBackwardRow(const float* in, const float* dout, int64_t count, float* din);

}  // namespace ghost
