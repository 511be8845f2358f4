// Refuses values that would silently corrupt every later layer.
#pragma once

#include <span>
#include <string>

namespace ghost {

// Error(kCorrupt) "`what` are not finite" naming the layer, if any value is infinite or not a number.
void CheckFinite(std::span<const float> values, int layer, const std::string& what);

}  // namespace ghost
