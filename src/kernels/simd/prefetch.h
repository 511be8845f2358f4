// Prefetching for kernels that read a narrow strip of a wide matrix: every row is in another page, and the
// hardware prefetcher stops at the end of a page.
#pragma once

#include <hwy/cache_control.h>

#include <cstddef>
#include <cstdint>

namespace ghost {

inline constexpr int64_t kRowsAhead = 8;

inline void PrefetchBytes(const std::byte* bytes, int64_t count) {
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < count; i += kLine) hwy::Prefetch(bytes + i);
}

inline void PrefetchFloats(const float* values, int64_t count) {
  PrefetchBytes(reinterpret_cast<const std::byte*>(values), count * int64_t{sizeof(float)});
}

}  // namespace ghost
