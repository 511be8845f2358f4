// Prefetching for kernels that read a narrow strip of a wide matrix: every row is in another page, and the
// hardware prefetcher stops at the end of a page.
#pragma once

#include <hwy/cache_control.h>

#include <cstdint>

namespace ghost {

inline constexpr int64_t kRowsAhead = 8;

inline void PrefetchFloats(const float* values, int64_t count) {
  constexpr int64_t kLine = 16;  // floats
  for (int64_t i = 0; i < count; i += kLine) hwy::Prefetch(values + i);
}

}  // namespace ghost
