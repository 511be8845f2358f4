// Vectorised rows of rope.h. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// Rotates the first `half` pairs of `heads` heads, stored head_dim floats apart in x, by the angles whose
// cosines and sines are given: (half) each. Pairs are (i, i + half), or (2i, 2i + 1).
void RotateHalves(const float* cosines, const float* sines, int64_t half, int64_t heads, int64_t head_dim,
                  float* x);
void RotateNeighbours(const float* cosines, const float* sines, int64_t half, int64_t heads, int64_t head_dim,
                      float* x);

}  // namespace ghost
