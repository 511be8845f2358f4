#include "kernels/attention/rope.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "kernels/attention/rope_simd.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

constexpr int64_t kRowsPerTask = 8;  // which share the powers of theta

// Rows [begin, end). direction: 1 forward, -1 backward.
void RotateRows(std::span<const int64_t> positions, int head_dim, double theta, double direction,
                int64_t begin, int64_t end, View x) {
  const int64_t half = head_dim / 2;
  float* cosines = ThreadScratch(0, 2 * kRowsPerTask * half);  // (kRowsPerTask, half), then the sines
  float* sines = cosines + kRowsPerTask * half;
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / head_dim);
    for (int64_t t = begin; t < end; ++t) {
      const double angle = static_cast<double>(positions[static_cast<size_t>(t)]) * frequency;
      cosines[(t - begin) * half + i] = static_cast<float>(std::cos(angle));
      sines[(t - begin) * half + i] = static_cast<float>(direction * std::sin(angle));
    }
  }
  for (int64_t t = begin; t < end; ++t) {
    const int64_t row = (t - begin) * half;
    RotateRow(cosines + row, sines + row, half, x.cols / head_dim, x.Row(t));
  }
}

void Rotate(std::span<const int64_t> positions, int head_dim, double theta, double direction, View x) {
  GHOST_CHECK(head_dim >= 2 && head_dim % 2 == 0 && x.cols % head_dim == 0);
  GHOST_CHECK(static_cast<int64_t>(positions.size()) == x.rows);
  const auto task = [&](int64_t i) {
    const int64_t begin = i * kRowsPerTask, end = std::min(x.rows, begin + kRowsPerTask);
    RotateRows(positions, head_dim, theta, direction, begin, end, x);
  };
  const int64_t tasks = (x.rows + kRowsPerTask - 1) / kRowsPerTask;
  // A float64 sine and cosine cost about a hundred vector operations.
  ParallelFor(tasks, task, /*work=*/x.rows * (x.cols + head_dim / 2 * 100));
}

}  // namespace

void ApplyRope(std::span<const int64_t> positions, int head_dim, double theta, View x) {
  Rotate(positions, head_dim, theta, 1.0, x);
}
void ApplyRopeBackward(std::span<const int64_t> positions, int head_dim, double theta, View dx) {
  Rotate(positions, head_dim, theta, -1.0, dx);
}

}  // namespace ghost
