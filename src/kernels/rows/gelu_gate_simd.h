// Vectorised rows of gelu_gate.h. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// out[f] = gelu(x[f]) * gate[f] for `count` values; out may be x.
void GeluGateRow(const float* x, const float* gate, int64_t count, float* out);
// dx may be x, dgate may be gate.
void GeluGateBackwardRow(const float* x, const float* gate, const float* dout, int64_t count, float* dx,
                         float* dgate);

}  // namespace ghost
