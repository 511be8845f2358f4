// Activations as blocks of signed bytes: the left factor of a product with block-quantised weights.
#pragma once

#include <cstdint>

namespace ghost {

// The rule, for every block of kActivationBlock consecutive values of a row, in float32:
//   largest = max |x|;  scale = largest / 127;  q = x * (127 / largest), rounded to nearest, ties to even
// A block whose largest magnitude is below kActivationTiny becomes zeros with scale 0 (127 / largest would
// overflow). A block with an infinity or NaN gets a NaN scale and zeros, so that every product with the row
// is NaN. Blocks of other rows do not matter, so a row's result does not depend on the batch around it.
inline constexpr int64_t kActivationBlock = 32;
inline constexpr float kActivationTiny = 0x1.0p-100f;

// One block. The specification; int8_product_simd.cc computes the same bits.
float QuantizeActivationsRef(const float* x, int8_t* q);

}  // namespace ghost
