#include "prune/mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/error.h"

namespace ghost {
namespace {

// Marks the NumPruned lowest of the channels [begin, end) as dropped.
void DropLowest(std::span<const double> scores, int begin, int end, const SelectionRule& rule,
                std::vector<bool>& dropped) {
  std::vector<int> order(static_cast<size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  // Stable: equal scores keep the order of their indices.
  std::ranges::stable_sort(
      order, [&](int a, int b) { return scores[static_cast<size_t>(a)] < scores[static_cast<size_t>(b)]; });
  const int count = NumPruned(rule, end - begin);
  for (int i = 0; i < count; ++i) dropped[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
}

LayerMask KeepGroups(const std::vector<int>& begin) {
  LayerMask mask;
  for (size_t g = 0; g + 1 < begin.size(); ++g) {
    mask.kept.emplace_back(static_cast<size_t>(begin[g + 1] - begin[g]));
    std::iota(mask.kept.back().begin(), mask.kept.back().end(), 0);
  }
  return mask;
}

}  // namespace

int LayerMask::num_kept() const {
  size_t total = 0;
  for (const std::vector<int>& group : kept) total += group.size();
  return static_cast<int>(total);
}

std::vector<int> LayerMask::Channels(std::span<const int> group_begin) const {
  GHOST_CHECK(kept.size() + 1 == group_begin.size());
  std::vector<int> channels;
  for (size_t g = 0; g < kept.size(); ++g) {
    for (const int i : kept[g]) channels.push_back(group_begin[g] + i);
  }
  return channels;
}

bool IsMaskOf(const LayerMask& mask, const MixerDims& dims) {
  if (static_cast<int>(mask.kept.size()) != dims.num_groups()) return false;
  for (size_t g = 0; g < mask.kept.size(); ++g) {
    int last = -1;
    for (const int i : mask.kept[g]) {
      if (i <= last || i >= dims.group_size(static_cast<int>(g))) return false;
      last = i;
    }
  }
  return true;
}

LayerMask KeepAll(const MixerDims& dims) { return KeepGroups(dims.state_begin); }
LayerMask KeepAllInputs(const MixerDims& dims) { return KeepGroups(dims.input_begin); }

PoolScope PoolScopeFromName(std::string_view name) {
  if (name == "layer") return PoolScope::kLayer;
  if (name == "group") return PoolScope::kGroup;
  throw Error(ErrorKind::kUsage, "unknown pool of channels",
              {.expected = "layer or group", .actual = std::string(name)});
}

int NumPruned(const SelectionRule& rule, int pool_size) {
  if (!(rule.sparsity >= 0.0 && rule.sparsity <= 1.0)) {
    throw Error(ErrorKind::kUsage, "sparsity is outside its range",
                {.expected = "0 to 1", .actual = fmt::format("{}", rule.sparsity)});
  }
  const int pruned = static_cast<int>(std::floor(rule.sparsity * pool_size + 1e-9));
  if (rule.multiple <= 1 || pruned == 0) return pruned;
  const int m = rule.multiple;
  const int kept = std::max(m, (pool_size - pruned + m / 2) / m * m);
  return std::max(0, pool_size - kept);
}

LayerMask SelectStates(std::span<const double> scores, const MixerDims& dims, const SelectionRule& rule,
                       int layer) {
  GHOST_CHECK(static_cast<int>(scores.size()) == dims.state_channels());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) {
      throw Error(ErrorKind::kCorrupt, "a saliency score is not a number",
                  {.tensor = fmt::format("layer {}, state channel {}", layer, i),
                   .hint = "the model or its activations contain NaN or overflow"});
    }
  }
  std::vector<bool> dropped(scores.size(), false);
  if (rule.pool == PoolScope::kLayer) {
    DropLowest(scores, 0, dims.state_channels(), rule, dropped);
  } else {
    for (size_t g = 0; g + 1 < dims.state_begin.size(); ++g) {
      DropLowest(scores, dims.state_begin[g], dims.state_begin[g + 1], rule, dropped);
    }
  }
  LayerMask mask;
  for (size_t g = 0; g + 1 < dims.state_begin.size(); ++g) {
    mask.kept.emplace_back();
    for (int c = dims.state_begin[g]; c < dims.state_begin[g + 1]; ++c) {
      if (!dropped[static_cast<size_t>(c)]) mask.kept.back().push_back(c - dims.state_begin[g]);
    }
  }
  return mask;
}

}  // namespace ghost
