// How kernels divide the rows of a matrix into tasks of ParallelFor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/threads.h"

namespace ghost {

// a / b, rounded up. For a >= 0, b > 0.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Calls body(t) once for every row t in [0, rows), `rows_per_task` consecutive rows on one thread. `work` as
// in ParallelFor. The rows must be independent of each other.
template <class Body>
void ForEachRow(int64_t rows, int64_t rows_per_task, const Body& body, int64_t work = kSerialWork) {
  const auto task = [&](int64_t i) {
    const int64_t end = std::min(rows, (i + 1) * rows_per_task);
    for (int64_t t = i * rows_per_task; t < end; ++t) body(t);
  };
  ParallelFor(CeilDiv(rows, rows_per_task), task, work);
}

}  // namespace ghost
