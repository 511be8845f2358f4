// The two inner loops of MatMul, dispatched at run time. Internal to src/kernels: matmul.cc divides the work.
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace ghost {

// Lanes over k. Rows [begin, end) of w for at most MaxDotRows() rows of x.
int64_t MaxDotRows();
void MatMulDots(ConstView x, WeightView w, View y, const MatMulOptions& options, int64_t begin, int64_t end);

// Lanes over t. The rows of x are first transposed into panels: a panel holds PanelRows() consecutive rows
// (the last one possibly half as many), k by k, padded with zeros.
int64_t PanelRows();
int64_t PackedFloats(int64_t T, int64_t K);
void PackPanel(ConstView x, int64_t panel, float* packed);

// The panels of x^T from x: (K, T) as stored: row k holds value k of every panel, so nothing is transposed.
void PackColumns(ConstView x, float* packed);

// out[c * stride + r] = in[r][c]
void TransposeRows(ConstView in, float* out, int64_t stride);

// Multiplies rows [begin, end) of w, end - begin <= kTileWeights, by all T <= kMaxTileRows rows of x,
// which are in `packed`.
inline constexpr int64_t kTileWeights = 48;
inline constexpr int64_t kMaxTileRows = 256;
inline constexpr int64_t kTileDepth = 256;  // weights of a row that are used before moving to the next row
int64_t TileScratchFloats();
void MatMulTile(const float* packed, WeightView w, View y, const MatMulOptions& options, int64_t begin,
                int64_t end, float* scratch);

}  // namespace ghost
