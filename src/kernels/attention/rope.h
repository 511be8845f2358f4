// Rotary position embedding: queries and keys are rotated by angles that grow with the position, so that
// their products depend on distances only.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace ghost {

// In place on every head of x: (T, heads * d), d = head_dim even, row t at positions[t] (T of them).
// With angle_i = position * theta^(-2i/d) and i < d/2, the pair (lo, hi) = (i, i + d/2) of each head
// is rotated by angle_i:
//   lo' = lo * cos - hi * sin
//   hi' = hi * cos + lo * sin
// Angles, sines and cosines are float64, the rotation is float32.
void ApplyRope(std::span<const int64_t> positions, int head_dim, double theta, View x);
void ApplyRopeRef(std::span<const int64_t> positions, int head_dim, double theta, View x);

// In place: converts the gradient with respect to ApplyRope's result into the one with respect to its input.
// The transpose of a rotation is its inverse, so this also undoes ApplyRope.
void ApplyRopeBackward(std::span<const int64_t> positions, int head_dim, double theta, View dx);
void ApplyRopeBackwardRef(std::span<const int64_t> positions, int head_dim, double theta, View dx);

}  // namespace ghost
