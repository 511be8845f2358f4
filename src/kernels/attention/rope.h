// Rotary position embedding: queries and keys are rotated by angles that grow with the position, so that
// their products depend on distances only.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace ghost {

// Which channels of a head's rotated part form a pair.
enum class RopePairs {
  kHalves,      // (i, i + rotated / 2)
  kNeighbours,  // (2i, 2i + 1)
};

struct RopeShape {
  int head_dim = 0;
  int rotated = 0;  // the first channels of each head that are rotated: even, from 2 to head_dim
  double theta = 10000.0;
  RopePairs pairs = RopePairs::kHalves;
};

// In place on every head of x: (T, heads * head_dim), row t at positions[t] (T of them). With
// angle_i = position * theta^(-2i/rotated) and i < rotated/2, pair i = (lo, hi) of each head is rotated by
// angle_i:
//   lo' = lo * cos - hi * sin
//   hi' = hi * cos + lo * sin
// Channels from `rotated` on do not change. Angles, sines and cosines are float64, the rotation is float32.
void ApplyRope(std::span<const int64_t> positions, const RopeShape& shape, View x);
void ApplyRopeRef(std::span<const int64_t> positions, const RopeShape& shape, View x);

// In place: converts the gradient with respect to ApplyRope's result into the one with respect to its input.
// The transpose of a rotation is its inverse, so this also undoes ApplyRope.
void ApplyRopeBackward(std::span<const int64_t> positions, const RopeShape& shape, View dx);
void ApplyRopeBackwardRef(std::span<const int64_t> positions, const RopeShape& shape, View dx);

}  // namespace ghost
