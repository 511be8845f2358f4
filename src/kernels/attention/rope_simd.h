// Vectorised rows of rope.h. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// Rotates the pairs (i, i + half) of `heads` heads, stored one after the other in x, by the angles whose
// cosines and sines are given: (half) each.
void RotateRow(const float* cosines, const float* sines, int64_t half, int64_t heads, float* x);

}  // namespace ghost
