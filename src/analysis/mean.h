// The mean of a list.
#pragma once

#include <numeric>
#include <vector>

namespace ghost {

// Of at least one value.
inline double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace ghost
