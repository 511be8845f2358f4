// Q8_0: blocks of 32 values share a half-precision scale (docs/formats.md).
// WidenElements (tensor/tensor.h) reads it.
#pragma once

#include <cstddef>
#include <span>

namespace ghost {

// Quantises `row`, a multiple of 32 values, into `out`, which holds row.size() / 32 * 34 bytes. Per block:
//   d = max|x| / 127, rounded to half only when it is stored
//   q = round(x * (1 / d)), ties away from zero: the bytes that llama-quantize writes
// Throws Error(kUnsupported) for values that are not finite, or so large (above about 8.3e6) that d
// is not a finite half.
void QuantizeRowQ8_0(std::span<const float> row, std::byte* out);

}  // namespace ghost
