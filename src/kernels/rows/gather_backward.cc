#include "kernels/rows/gather_backward.h"

#include <algorithm>

#include "base/threads.h"

namespace ghost {

void ScatterAddRows(std::span<const int32_t> ids, ConstView rows, View table) {
  constexpr int64_t kColumns = 64;
  const auto T = static_cast<int64_t>(ids.size());
  GHOST_CHECK(rows.rows == T && rows.cols == table.cols);
  for (const int32_t id : ids) GHOST_CHECK(id >= 0 && id < table.rows);
  const auto strip = [&](int64_t task) {
    const int64_t begin = task * kColumns, end = std::min(table.cols, begin + kColumns);
    for (int64_t t = 0; t < T; ++t) {
      const float* from = rows.Row(t);
      float* to = table.Row(ids[static_cast<size_t>(t)]);
      for (int64_t m = begin; m < end; ++m) to[m] += from[m];
    }
  };
  ParallelFor((table.cols + kColumns - 1) / kColumns, strip, /*work=*/T * table.cols);
}

}  // namespace ghost
