#include <cmath>

#include "kernels/attention/rope.h"

namespace ghost {
namespace {

// direction: 1 forward, -1 backward.
void RotateRef(std::span<const int64_t> positions, int head_dim, double theta, double direction, View x) {
  const int64_t T = x.rows, half = head_dim / 2;
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = direction * static_cast<double>(positions[static_cast<size_t>(t)]) *
                           std::pow(theta, -2.0 * static_cast<double>(i) / head_dim);
      for (float* head = x.Row(t); head < x.Row(t) + x.cols; head += head_dim) {
        const double lo = head[i], hi = head[i + half];
        head[i] = static_cast<float>(lo * std::cos(angle) - hi * std::sin(angle));
        head[i + half] = static_cast<float>(hi * std::cos(angle) + lo * std::sin(angle));
      }
    }
  }
}

}  // namespace

void ApplyRopeRef(std::span<const int64_t> positions, int head_dim, double theta, View x) {
  RotateRef(positions, head_dim, theta, 1.0, x);
}
void ApplyRopeBackwardRef(std::span<const int64_t> positions, int head_dim, double theta, View dx) {
  RotateRef(positions, head_dim, theta, -1.0, dx);
}

}  // namespace ghost
