#include "kernels/rows/gather.h"

#include <algorithm>

#include "kernels/row_tasks.h"
#include "kernels/simd/widen.h"

namespace ghost {
namespace {

constexpr int64_t kGatherRowsPerTask = 64;

}  // namespace

void GatherRows(WeightView table, std::span<const int32_t> ids, View out) {
  const int64_t T = static_cast<int64_t>(ids.size());
  GHOST_CHECK(out.rows == T && out.cols == table.cols);
  for (const int32_t id : ids) GHOST_CHECK(id >= 0 && id < table.rows);
  ForEachRow(T, kGatherRowsPerTask,
             [&](int64_t t) { Widen(table.Rows(ids[static_cast<size_t>(t)], 1), out.Row(t)); });
}

void CopyRows(ConstView from, View to) {
  const auto copy = [&](int64_t t) { std::copy_n(from.Row(t), from.cols, to.Row(t)); };
  ForEachRow(from.rows, kGatherRowsPerTask, copy, /*work=*/from.rows * from.cols);
}

void AddRows(ConstView from, View to) {
  const auto add = [&](int64_t t) {
    const float* source = from.Row(t);
    float* sums = to.Row(t);
    for (int64_t m = 0; m < from.cols; ++m) sums[m] += source[m];
  };
  ForEachRow(from.rows, kGatherRowsPerTask, add, /*work=*/from.rows * from.cols);
}

}  // namespace ghost
