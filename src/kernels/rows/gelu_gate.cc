#include "kernels/rows/gelu_gate.h"

#include "base/threads.h"
#include "kernels/rows/gelu_gate_simd.h"

namespace ghost {
namespace {

constexpr int64_t kGeluWorkPerValue = 16;  // vector operations in place of one multiplication

}  // namespace

void GeluGate(ConstView in, View out) {
  const int64_t F = out.cols;
  GHOST_CHECK(in.rows == out.rows && in.cols == 2 * F);
  const auto row = [&](int64_t t) { GeluGateRow(in.Row(t), in.Row(t) + F, F, out.Row(t)); };
  ParallelFor(in.rows, row, /*work=*/in.rows * F * kGeluWorkPerValue);
}

void GeluGateBackward(ConstView in, ConstView dout, View din) {
  const int64_t F = dout.cols;
  GHOST_CHECK(in.rows == dout.rows && in.cols == 2 * F && din.rows == in.rows && din.cols == in.cols);
  const auto row = [&](int64_t t) {
    GeluGateBackwardRow(in.Row(t), in.Row(t) + F, dout.Row(t), F, din.Row(t), din.Row(t) + F);
  };
  ParallelFor(in.rows, row, /*work=*/in.rows * F * kGeluWorkPerValue);
}

}  // namespace ghost
