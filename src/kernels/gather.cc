#include "kernels/gather.h"

#include "base/threads.h"
#include "kernels/widen.h"

namespace ghost {
namespace {
constexpr int64_t kRowsPerTask = 64;
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

}  // namespace ghost
