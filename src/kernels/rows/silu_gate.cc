#include "kernels/rows/silu_gate.h"

#include "base/threads.h"
#include "kernels/rows/silu_gate_simd.h"
#include "kernels/same_shape.h"

namespace ghost {
namespace {

constexpr int64_t kSiluWorkPerValue = 16;  // vector operations in place of one multiplication

}  // namespace

void SiluGate(ConstView y, ConstView z, View out) {
  GHOST_CHECK(SameShape(y, z) && SameShape(y, out));
  const auto row = [&](int64_t t) { SiluGateRow(y.Row(t), z.Row(t), y.cols, out.Row(t)); };
  ParallelFor(y.rows, row, /*work=*/y.rows * y.cols * kSiluWorkPerValue);
}

void SiluGateBackward(ConstView y, ConstView z, ConstView dout, View dy, View dz) {
  GHOST_CHECK(SameShape(y, z) && SameShape(y, dout) && SameShape(y, dy) && SameShape(y, dz));
  const auto row = [&](int64_t t) {
    SiluGateBackwardRow(y.Row(t), z.Row(t), dout.Row(t), y.cols, dy.Row(t), dz.Row(t));
  };
  ParallelFor(y.rows, row, /*work=*/y.rows * y.cols * kSiluWorkPerValue);
}

}  // namespace ghost
