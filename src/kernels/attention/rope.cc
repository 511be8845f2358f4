#include "kernels/attention/rope.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "kernels/attention/rope_simd.h"
#include "kernels/row_tasks.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

constexpr int64_t kRopeRowsPerTask = 8;  // which share the powers of theta

// Rows [begin, end). direction: 1 forward, -1 backward.
void RotateRows(std::span<const int64_t> positions, const RopeShape& shape, double direction, int64_t begin,
                int64_t end, View x) {
  const int64_t half = shape.rotated / 2, heads = x.cols / shape.head_dim;
  float* cosines = ThreadScratch(0, 2 * kRopeRowsPerTask * half);  // (kRopeRowsPerTask, half), then the sines
  float* sines = cosines + kRopeRowsPerTask * half;
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(shape.theta, -2.0 * static_cast<double>(i) / shape.rotated);
    for (int64_t t = begin; t < end; ++t) {
      const double angle = static_cast<double>(positions[static_cast<size_t>(t)]) * frequency;
      cosines[(t - begin) * half + i] = static_cast<float>(std::cos(angle));
      sines[(t - begin) * half + i] = static_cast<float>(direction * std::sin(angle));
    }
  }
  const auto rotate = shape.pairs == RopePairs::kHalves ? RotateHalves : RotateNeighbours;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t row = (t - begin) * half;
    rotate(cosines + row, sines + row, half, heads, shape.head_dim, x.Row(t));
  }
}

void Rotate(std::span<const int64_t> positions, const RopeShape& shape, double direction, View x) {
  GHOST_CHECK(shape.rotated >= 2 && shape.rotated % 2 == 0 && shape.rotated <= shape.head_dim);
  GHOST_CHECK(x.cols % shape.head_dim == 0);
  GHOST_CHECK(static_cast<int64_t>(positions.size()) == x.rows);
  const auto task = [&](int64_t i) {
    const int64_t begin = i * kRopeRowsPerTask, end = std::min(x.rows, begin + kRopeRowsPerTask);
    RotateRows(positions, shape, direction, begin, end, x);
  };
  const int64_t tasks = CeilDiv(x.rows, kRopeRowsPerTask);
  // A float64 sine and cosine cost about a hundred vector operations.
  ParallelFor(tasks, task, /*work=*/x.rows * (x.cols + shape.rotated / 2 * 100));
}

}  // namespace

void ApplyRope(std::span<const int64_t> positions, const RopeShape& shape, View x) {
  Rotate(positions, shape, 1.0, x);
}
void ApplyRopeBackward(std::span<const int64_t> positions, const RopeShape& shape, View dx) {
  Rotate(positions, shape, -1.0, dx);
}

}  // namespace ghost
