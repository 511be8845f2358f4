#include "prune/write/apply_mask.h"

#include <cstring>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "tensor/view.h"

namespace ghost {
namespace {

// The channels of B (and of C) in their new places, in the pooled order of the groups.
RowPlan MaskedChannels(const MixerDims& dims, const LayerMask& mask) {
  RowPlan channels(static_cast<size_t>(dims.state_channels()), -1);
  for (const int channel : mask.Channels(dims.state_begin)) channels[static_cast<size_t>(channel)] = channel;
  return channels;
}

RowPlan CompactChannels(const MixerDims& dims, const LayerMask& mask, std::span<const int> sizes) {
  RowPlan channels;
  for (size_t g = 0; g < mask.kept.size(); ++g) {
    for (const int i : mask.kept[g]) channels.push_back(dims.state_begin[g] + i);
    if (sizes.empty()) continue;
    GHOST_CHECK(static_cast<size_t>(sizes[g]) >= mask.kept[g].size());
    channels.resize(channels.size() + static_cast<size_t>(sizes[g]) - mask.kept[g].size(), -1);
  }
  return channels;
}

// `before` rows that stay, B, C, then `after` rows that stay.
RowPlan Surround(int before, const RowPlan& channels, int GN, int after) {
  RowPlan rows(static_cast<size_t>(before));
  std::iota(rows.begin(), rows.end(), 0);
  for (const int start : {before, before + GN}) {
    for (const int channel : channels) rows.push_back(channel < 0 ? -1 : start + channel);
  }
  for (int i = 0; i < after; ++i) rows.push_back(before + 2 * GN + i);
  return rows;
}

BlockPlan MakePlan(const MixerDims& dims, const RowPlan& channels) {
  const int GN = dims.state_channels();
  BlockPlan plan;
  plan.in_proj = Surround(dims.b_row(), channels, GN, dims.in_proj_rows() - dims.dt_row());
  plan.conv = plan.conv_bias = Surround(dims.conv_b(), channels, GN, 0);
  return plan;
}

}  // namespace

BlockPlan MakeMaskPlan(const MixerDims& dims, const LayerMask& mask, bool keep_conv_bias) {
  GHOST_CHECK(IsMaskOf(mask, dims));
  BlockPlan plan = MakePlan(dims, MaskedChannels(dims, mask));
  if (keep_conv_bias) std::iota(plan.conv_bias.begin(), plan.conv_bias.end(), 0);
  return plan;
}

BlockPlan MakeCompactPlan(const MixerDims& dims, const LayerMask& mask,
                          std::span<const int> padded_group_sizes) {
  GHOST_CHECK(IsMaskOf(mask, dims));
  GHOST_CHECK(padded_group_sizes.empty() || padded_group_sizes.size() == mask.kept.size());
  return MakePlan(dims, CompactChannels(dims, mask, padded_group_sizes));
}

const RowPlan* PlanFor(const BlockPlan& plan, const MixerWeights& block, const Tensor& slot) {
  if (&slot == &block.in_proj || &slot == &block.in_proj_bias) return &plan.in_proj;
  if (&slot == &block.conv) return &plan.conv;
  if (&slot == &block.conv_bias) return &plan.conv_bias;
  return nullptr;
}

Tensor ReplaceRows(const Tensor& tensor, int64_t first, const Tensor& rows) {
  const int64_t count = tensor.shape()[0];
  GHOST_CHECK(rows.dtype() == tensor.dtype() && first >= 0 && first + rows.shape()[0] <= count);
  const size_t row_bytes = tensor.num_bytes() / static_cast<size_t>(count);
  GHOST_CHECK(rows.num_bytes() == row_bytes * static_cast<size_t>(rows.shape()[0]));
  std::shared_ptr<std::byte[]> bytes(new std::byte[tensor.num_bytes()]);
  std::memcpy(bytes.get(), tensor.data(), tensor.num_bytes());
  std::memcpy(bytes.get() + static_cast<size_t>(first) * row_bytes, rows.data(), rows.num_bytes());
  return Tensor(tensor.dtype(), tensor.shape(), std::shared_ptr<const std::byte>(bytes, bytes.get()));
}

MixerWeights ApplyPlan(const MixerWeights& block, const BlockPlan& plan) {
  MixerWeights out = block;
  for (Tensor MixerWeights::*const member :
       {&MixerWeights::in_proj, &MixerWeights::in_proj_bias, &MixerWeights::conv, &MixerWeights::conv_bias}) {
    const Tensor& tensor = block.*member;
    if (!tensor.empty()) out.*member = GatherRows(tensor, *PlanFor(plan, block, tensor));
  }
  return out;
}

MixerWeights MaskBlock(const MixerWeights& block, const MixerDims& dims, const LayerMask& mask,
                       bool keep_conv_bias) {
  return ApplyPlan(block, MakeMaskPlan(dims, mask, keep_conv_bias));
}

MixerWeights CompactBlock(const MixerWeights& block, const MixerDims& dims, const LayerMask& mask,
                          std::span<const int> padded_group_sizes) {
  return ApplyPlan(block, MakeCompactPlan(dims, mask, padded_group_sizes));
}

MixerDims CompactDims(const MixerDims& dims, const LayerMask& mask, std::span<const int> padded_group_sizes) {
  MixerDims out = dims;
  std::vector<int> begin = {0};
  for (size_t g = 0; g < mask.kept.size(); ++g) {
    const int size =
        padded_group_sizes.empty() ? static_cast<int>(mask.kept[g].size()) : padded_group_sizes[g];
    begin.push_back(begin.back() + size);
  }
  out.SetGroups(std::move(begin));
  return out;
}

}  // namespace ghost
