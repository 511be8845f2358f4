// The quantised blocks of GGUF files, as numbers. `d` and `dmin` are half-precision, bytes are in the order
// of the file, and q is an unsigned integer of the bits that are left:
//
//   type    values  bytes
//   Q8_0        32     34   d, 32 signed bytes                                     value = d * byte
//   Q4_0        32     18   d, 16 bytes of two q                                   value = d * (q - 8)
//   Q5_0        32     22   d, 32 fifth bits, 16 bytes of two q                    value = d * (q - 16)
//   IQ4_NL      32     18   d, 16 bytes of two q                                   value = d * levels[q]
//   Q4_K       256    144   d, dmin, 12 bytes of scales, 128 of q                  value = d s q - dmin m
//   Q5_K       256    176   d, dmin, 12 bytes of scales, 32 of fifth bits, 128 of q    likewise
//   Q6_K       256    210   128 bytes of low bits, 64 of high bits, 16 scales, d   value = d s (q - 32)
//
// Q4_K and Q5_K have a scale s and a minimum m of six bits per 32 values, Q6_K a signed scale per 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace ghost {

// The levels of IQ4_NL.
inline constexpr int8_t kIQ4NLValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

// The six-bit scales and minima of Q4_K and Q5_K, from or to their twelve bytes.
struct SixBitScales {
  uint8_t scales[8], minima[8];
};
SixBitScales UnpackSixBits(const std::byte* bytes);
void PackSixBits(const SixBitScales& from, std::byte* bytes);

// Widens `count` values that start with a block. d * s and dmin * m are exact in float32, so a value has one
// rounding, or two with a minimum.
void WidenBlocks(DType dtype, const std::byte* blocks, int64_t count, float* out);

}  // namespace ghost
