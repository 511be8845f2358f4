// How far apart rows in scratch lie.
#pragma once

#include <cstdint>

namespace ghost {

// Floats from row to row, at least `cols`: an odd number of cache lines, so that a column spreads over all
// sets of the first-level cache.
constexpr int64_t RowStride(int64_t cols) { return ((cols + 15) / 16 | 1) * 16; }

}  // namespace ghost
