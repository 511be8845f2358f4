#include <cmath>

#include "kernels/attention/rope.h"

namespace ghost {
namespace {

// direction: 1 forward, -1 backward.
void RotateRef(std::span<const int64_t> positions, const RopeShape& shape, double direction, View x) {
  const int64_t T = x.rows, half = shape.rotated / 2;
  const bool halves = shape.pairs == RopePairs::kHalves;
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = direction * static_cast<double>(positions[static_cast<size_t>(t)]) *
                           std::pow(shape.theta, -2.0 * static_cast<double>(i) / shape.rotated);
      const int64_t first = halves ? i : 2 * i, second = halves ? i + half : 2 * i + 1;
      for (float* head = x.Row(t); head < x.Row(t) + x.cols; head += shape.head_dim) {
        const double lo = head[first], hi = head[second];
        head[first] = static_cast<float>(lo * std::cos(angle) - hi * std::sin(angle));
        head[second] = static_cast<float>(hi * std::cos(angle) + lo * std::sin(angle));
      }
    }
  }
}

}  // namespace

void ApplyRopeRef(std::span<const int64_t> positions, const RopeShape& shape, View x) {
  RotateRef(positions, shape, 1.0, x);
}
void ApplyRopeBackwardRef(std::span<const int64_t> positions, const RopeShape& shape, View dx) {
  RotateRef(positions, shape, -1.0, dx);
}

}  // namespace ghost
