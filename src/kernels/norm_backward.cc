#include "kernels/norm_backward.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/row_backward_simd.h"

namespace ghost {
namespace {

constexpr int64_t kRowsPerTask = 8;

template <class Body>
void ForEachRow(int64_t T, int64_t work, const Body& body) {
  ParallelFor((T + kRowsPerTask - 1) / kRowsPerTask,
              [&](int64_t task) {
                const int64_t end = std::min(T, (task + 1) * kRowsPerTask);
                for (int64_t t = task * kRowsPerTask; t < end; ++t) body(t);
              },
              work);
}

bool SameShape(ConstView a, ConstView b) { return a.rows == b.rows && a.cols == b.cols; }

}  // namespace

void RmsNormBackward(ConstView x, const float* weight, float eps, ConstView dy, View dx) {
  GHOST_CHECK(SameShape(x, dy) && SameShape(x, dx));
  ForEachRow(x.rows, x.rows * x.cols * 6,
             [&](int64_t t) { RmsNormBackwardRow(x.Row(t), weight, eps, dy.Row(t), x.cols, dx.Row(t)); });
}

void GatedRmsNormBackward(ConstView y, ConstView z, const float* weight, float eps, int groups,
                          ConstView dout, const GatedNormGradients& gradients) {
  GHOST_CHECK(groups >= 1 && y.cols % groups == 0 && SameShape(y, z) && SameShape(y, dout));
  GHOST_CHECK(SameShape(y, gradients.y) && SameShape(y, gradients.z));
  const int64_t part = y.cols / groups;
  ForEachRow(y.rows, y.rows * y.cols * 20, [&](int64_t t) {
    for (int64_t r = 0; r < y.cols; r += part) {
      GatedRmsNormBackwardRow({y.Row(t) + r, z.Row(t) + r, weight + r, dout.Row(t) + r,
                               gradients.y.Row(t) + r, gradients.z.Row(t) + r, part},
                              eps);
    }
  });
}

void SoftplusClampBackward(ConstView raw, const float* bias, float low, float high, ConstView ddt,
                           View draw) {
  GHOST_CHECK(SameShape(raw, ddt) && SameShape(raw, draw));
  ForEachRow(raw.rows, raw.rows * raw.cols * 40, [&](int64_t t) {
    SoftplusClampBackwardRow(raw.Row(t), bias, low, high, ddt.Row(t), raw.cols, draw.Row(t));
  });
}

}  // namespace ghost
