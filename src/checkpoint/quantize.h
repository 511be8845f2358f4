// Quantises weights to the block types of GGUF (tensor/widen_blocks.h has the formats).
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace ghost {

// Quantises `values`, whole blocks, into `out`. The result depends on the values alone. Q8_0 as in io/q8_0.h.
// For the others the scale of a block (and its minimum) is the best of a few dozen candidates, each refined
// by weighted least squares: weights x^2 for symmetric types, |x| + the root mean square of its sub-block for
// types with minima, so that large weights, which matter most in a product, are met best. Throws
// Error(kUnsupported) for values that are not finite or whose scale is not a finite half.
void QuantizeBlocks(DType dtype, std::span<const float> values, std::byte* out);

}  // namespace ghost
