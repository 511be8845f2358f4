// The best few of a row of scores, for the router of a layer of experts.
#pragma once

#include <cstdint>
#include <span>

namespace ghost {

// Writes the indices of the `count` largest values to `chosen`, the largest first. Equal values are ordered
// by index, the lower one first. NaN counts as smaller than every number, -infinity included, so the indices
// are valid and distinct whatever the values are.
// 0 <= count <= values.size() and chosen.size() == count. Runs on the calling thread and allocates nothing.
// Meant for small counts: the time grows with values.size() * count.
void TopK(std::span<const float> values, int count, std::span<int32_t> chosen);

}  // namespace ghost
