#include "kernels/rows/top_k.h"

#include <cmath>

#include "base/check.h"

namespace ghost {
namespace {

// A strict order of the values with NaN at the end; std::greater is none if there is a NaN.
bool Better(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

}  // namespace

// Insertion into the sorted list of the best so far. Indices come in ascending order and an equal value does
// not overtake, so the lower index stays in front.
void TopK(std::span<const float> values, int count, std::span<int32_t> chosen) {
  GHOST_CHECK(count >= 0 && static_cast<size_t>(count) <= values.size());
  GHOST_CHECK(chosen.size() == static_cast<size_t>(count));
  if (count == 0) return;
  const auto value_at = [&](size_t place) { return values[static_cast<size_t>(chosen[place])]; };
  size_t filled = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool full = filled == chosen.size();
    if (full && !Better(values[i], value_at(filled - 1))) continue;
    size_t place = full ? filled - 1 : filled++;  // the last place; its index, if any, drops out
    for (; place > 0 && Better(values[i], value_at(place - 1)); --place) chosen[place] = chosen[place - 1];
    chosen[place] = static_cast<int32_t>(i);
  }
}

}  // namespace ghost
