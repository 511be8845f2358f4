// Products with block-quantised weights in integer arithmetic, dispatched at run time. Internal to
// src/kernels: matmul.cc divides the work.
//   y[t][o] = sum over blocks b of  scale[o][b] * scale[t][b] * (sum over k in b of q[o][k] * q[t][k])
//                                 - min[o][b] * scale[t][b] * (sum over k in b of q[t][k])
// Activations are quantised as activation_blocks.h says. Sums of products of integers are exact. Many rows of
// x (tiles): a block is one integer, and blocks are added in order in float32 by fused multiply-adds. Few
// rows (dots): eight lanes, each with four values out of 32, are added block by block in float32 and then
// with each other. So the result depends neither on the number of threads nor on the instruction set, as long
// as it has fused multiply-adds (SSE4 has not), and on T only where dots end and tiles begin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace ghost {

// Weights are unpacked in groups of this many rows, lanes over rows, and multiplied by panels of this many
// rows of x.
inline constexpr int64_t kGroupWeights = 16;
inline constexpr int64_t kInt8PanelRows = 32;

// With at most this many rows of x, weights are read as they are stored.
inline constexpr int64_t kMaxInt8DotRows = 4;

// Quantises the rows of a panel. `packed` holds PackedInt8Floats(T, K) floats for all panels of x.
int64_t PackedInt8Floats(int64_t T, int64_t K);
void PackInt8Panel(ConstView x, int64_t panel, DType weights, float* packed);

// Multiplies rows [begin, end) of w by all rows of the packed x.
int64_t Int8ScratchFloats(int64_t K);
void MatMulInt8(float* packed, WeightView w, View y, const MatMulOptions& options, int64_t begin, int64_t end,
                float* scratch);

}  // namespace ghost
