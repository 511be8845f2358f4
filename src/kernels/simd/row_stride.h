// The distance between rows in scratch memory.
#pragma once

#include <cstdint>

namespace ghost {

// Floats from row to row, at least `cols`: an odd number of cache lines, so that a column is spread over all
// sets of the L1 cache.
constexpr int64_t RowStride(int64_t cols) { return ((cols + 15) / 16 | 1) * 16; }

}  // namespace ghost
