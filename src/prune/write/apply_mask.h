// From a mask to weights: what is zeroed or gathered for the channels that go. Rows of bytes are copied,
// never converted, so every element type stays exact.
#pragma once

#include <span>
#include <vector>

#include "model/weights.h"
#include "prune/mask.h"
#include "tensor/row_plan.h"

namespace ghost {

// How the tensors of a block that depend on N change; all others stay.
struct BlockPlan {
  RowPlan in_proj;    // and its bias
  RowPlan conv;       // taps
  RowPlan conv_bias;  // differs from `conv` only with keep_conv_bias
};

// Same shapes; B and C rows of dropped channels become zeros, with their taps and, unless `keep_conv_bias`,
// the bias of the convolution: with it left, SiLU(bias) would keep the channel alive.
BlockPlan MakeMaskPlan(const MixerDims& dims, const LayerMask& mask, bool keep_conv_bias);

// Smaller shapes: kept channels in ascending order per group, then zeros up to the group's padded size
// (empty: no padding; otherwise one per group, none below what is kept).
BlockPlan MakeCompactPlan(const MixerDims& dims, const LayerMask& mask,
                          std::span<const int> padded_group_sizes);

// Which of the plans a tensor of `block` follows, or null for those that do not depend on N. `slot` must be a
// member of `block`.
const RowPlan* PlanFor(const BlockPlan& plan, const MixerWeights& block, const Tensor& slot);

// The tensor with `rows`, of its own type and width, in place of its rows from `first` on.
Tensor ReplaceRows(const Tensor& tensor, int64_t first, const Tensor& rows);

MixerWeights ApplyPlan(const MixerWeights& block, const BlockPlan& plan);

MixerWeights MaskBlock(const MixerWeights& block, const MixerDims& dims, const LayerMask& mask,
                       bool keep_conv_bias);
MixerWeights CompactBlock(const MixerWeights& block, const MixerDims& dims, const LayerMask& mask,
                          std::span<const int> padded_group_sizes = {});
// The dims of what CompactBlock gives.
MixerDims CompactDims(const MixerDims& dims, const LayerMask& mask,
                      std::span<const int> padded_group_sizes = {});

}  // namespace ghost
