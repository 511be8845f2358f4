#include "kernels/rows/squared_relu.h"

#include "base/threads.h"
#include "kernels/rows/squared_relu_simd.h"
#include "kernels/same_shape.h"

namespace ghost {

void SquaredRelu(ConstView in, View out) {
  GHOST_CHECK(SameShape(in, out));
  const auto row = [&](int64_t t) { SquaredReluRow(in.Row(t), in.cols, out.Row(t)); };
  ParallelFor(in.rows, row, /*work=*/in.rows * in.cols);
}

void SquaredReluBackward(ConstView in, ConstView dout, View din) {
  GHOST_CHECK(SameShape(in, dout) && SameShape(in, din));
  const auto row = [&](int64_t t) { SquaredReluBackwardRow(in.Row(t), dout.Row(t), in.cols, din.Row(t)); };
  ParallelFor(in.rows, row, /*work=*/in.rows * in.cols);
}

}  // namespace ghost
