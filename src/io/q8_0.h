// Q8_0, the one quantised type we write: blocks of 32 values share a half-precision scale (docs/formats.md).
// Reading it back is WidenElements (tensor/tensor.h).
#pragma once

#include <cstddef>
#include <span>

namespace ghost {

// Quantises `row`, a multiple of 32 values, into `out`, which holds row.size() / 32 * 34 bytes. Per block:
// d = max|x| / 127, q = round(x / d), ties away from zero, with d before it is rounded to half. Throws
// Error(kUnsupported) for values that are not finite or so large (above about 8.3e6) that d is no finite
// half.
void QuantizeRowQ8_0(std::span<const float> row, std::byte* out);

}  // namespace ghost
