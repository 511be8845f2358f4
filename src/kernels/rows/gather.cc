#include "kernels/rows/gather.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/simd/widen.h"

namespace ghost {
namespace {

constexpr int64_t kRowsPerTask = 64;

// body(t) for every row of a matrix.
template <class Body>
void ForEachRow(ConstView matrix, const Body& body) {
  const auto run = [&](int64_t task) {
    const int64_t end = std::min(matrix.rows, (task + 1) * kRowsPerTask);
    for (int64_t t = task * kRowsPerTask; t < end; ++t) body(t);
  };
  ParallelFor((matrix.rows + kRowsPerTask - 1) / kRowsPerTask, run, /*work=*/matrix.rows * matrix.cols);
}

}  // namespace

void GatherRows(WeightView table, std::span<const int32_t> ids, View out) {
  const int64_t T = static_cast<int64_t>(ids.size());
  GHOST_CHECK(out.rows == T && out.cols == table.cols);
  for (const int32_t id : ids) GHOST_CHECK(id >= 0 && id < table.rows);
  ParallelFor((T + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task) {
    const int64_t end = std::min(T, (task + 1) * kRowsPerTask);
    for (int64_t t = task * kRowsPerTask; t < end; ++t) {
      Widen(table.Rows(ids[static_cast<size_t>(t)], 1), out.Row(t));
    }
  });
}

void CopyRows(ConstView from, View to) {
  ForEachRow(from, [&](int64_t t) { std::copy_n(from.Row(t), from.cols, to.Row(t)); });
}

void AddRows(ConstView from, View to) {
  ForEachRow(from, [&](int64_t t) {
    const float* source = from.Row(t);
    float* sums = to.Row(t);
    for (int64_t m = 0; m < from.cols; ++m) sums[m] += source[m];
  });
}

}  // namespace ghost
