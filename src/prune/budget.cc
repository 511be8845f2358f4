#include "prune/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "prune/calibration_stream.h"
#include "prune/statistics/output_gram.h"

namespace ghost {
namespace {

bool IsWhole(const MixerDims& dims, const std::vector<int>& whole_layers) {
  return std::ranges::count(whole_layers, dims.layer) > 0;
}

int64_t NumTokens(const Samples& samples) {
  int64_t tokens = 0;
  for (const auto& sample : samples) tokens += static_cast<int64_t>(sample.size());
  return tokens;
}

// A channel by its group, its index there, and its place from the weakest of its pool on.
struct Channel {
  int group = 0, index = 0, rank = 0;
};

// From the weakest to the strongest by what each gives alone. Pooled by group, the weakest of all groups come
// first, then the second weakest, so that whole runs of G channels leave groups equal.
std::vector<Channel> OrderChannels(const MixerDims& dims, const OutputGram& gram, PoolScope pool) {
  std::vector<Channel> channels;
  const auto alone = [&](const Channel& c) {
    return gram.gram(
        c.group)[static_cast<size_t>(c.index) * static_cast<size_t>(dims.group_size(c.group) + 1)];
  };
  for (int g = 0; g < dims.num_groups(); ++g) {
    std::vector<Channel> group;
    for (int i = 0; i < dims.group_size(g); ++i) group.push_back({g, i, 0});
    std::ranges::stable_sort(group, {}, alone);
    for (size_t i = 0; i < group.size(); ++i) group[i].rank = static_cast<int>(i);
    channels.insert(channels.end(), group.begin(), group.end());
  }
  if (pool == PoolScope::kGroup) {
    std::ranges::stable_sort(channels, {}, &Channel::rank);
  } else {
    std::ranges::stable_sort(channels, {}, alone);
  }
  return channels;
}

// The error for every number of units kept. A unit is what the selection can drop at a time.
BudgetCurve MakeCurve(const MixerDims& dims, const OutputGram& gram, double residual,
                      const SelectionRule& selection) {
  const int pools = selection.pool == PoolScope::kGroup ? dims.num_groups() : 1;
  const auto unit = static_cast<size_t>(std::max(1, selection.multiple) * pools);
  const std::vector<Channel> order = OrderChannels(dims, gram, selection.pool);
  const size_t units = std::max<size_t>(1, order.size() / unit);  // fewer channels than a unit stay together
  BudgetCurve curve;
  curve.errors.assign(units + 1, 0.0);
  curve.unit_floats = dims.state_floats() / dims.state_channels() * static_cast<int64_t>(unit);
  const double scale =
      1.0 / (static_cast<double>(std::max<int64_t>(1, gram.steps())) * std::max(residual, 1e-30));
  double error = 0.0;
  for (size_t dropped = 0; dropped < order.size(); ++dropped) {
    const Channel& next = order[dropped];
    const auto N = static_cast<size_t>(dims.group_size(next.group));
    const std::span<const double> row = gram.gram(next.group).subspan(static_cast<size_t>(next.index) * N, N);
    error += row[static_cast<size_t>(next.index)];
    for (size_t i = 0; i < dropped; ++i) {
      if (order[i].group == next.group) error += 2.0 * row[static_cast<size_t>(order[i].index)];
    }
    const size_t kept = order.size() - dropped - 1;
    if (kept % unit == 0 && kept / unit < units) curve.errors[kept / unit] = error * scale;
  }
  return curve;
}

// More units for one curve: as many as let its error fall most per float, among those that cost at most
// `floats`; 0 if none do.
struct Jump {
  int units = 0;
  double fall = 0.0;  // per float
};
Jump BestJump(const BudgetCurve& curve, int from, int64_t floats) {
  Jump best;
  const int last = static_cast<int>(curve.errors.size()) - 1;
  for (int to = from + 1; to <= last; ++to) {
    const int64_t cost = (to - from) * curve.unit_floats;
    if (cost > floats) break;
    const double fall = (curve.errors[static_cast<size_t>(from)] - curve.errors[static_cast<size_t>(to)]) /
                        static_cast<double>(cost);
    if (best.units == 0 || fall > best.fall) best = {to - from, fall};
  }
  return best;
}

// Groups of a mixer that get one size, in units of `unit` channels each.
struct GroupPool {
  size_t mixer = 0;
  std::vector<int> groups;
  int unit = 1;
  BudgetCurve curve;
};

std::vector<GroupPool> PoolsOf(const MixerDims& dims, size_t mixer,
                               const std::vector<std::vector<double>>& errors, const SelectionRule& rule) {
  std::vector<GroupPool> pools;
  const int64_t floats = dims.state_floats() / dims.state_channels();
  for (int g = 0; g < dims.num_groups(); ++g) {
    GHOST_CHECK(dims.group_size(g) > 0);
    const int unit = std::min(std::max(1, rule.multiple), dims.group_size(g));
    const auto units = static_cast<size_t>(dims.group_size(g) / unit);
    if (pools.empty() || rule.pool == PoolScope::kLayer)
      pools.push_back({mixer, {}, unit, {.errors = std::vector<double>(units + 1), .unit_floats = 0}});
    GroupPool& pool = pools.back();
    pool.groups.push_back(g);
    pool.curve.unit_floats += floats * unit;
    for (size_t u = 0; u <= units; ++u)
      pool.curve.errors[u] += errors[static_cast<size_t>(g)][u * static_cast<size_t>(unit)];
  }
  return pools;
}

}  // namespace

std::vector<double> SpreadSparsity(const ModelConfig& config, double sparsity,
                                   const std::vector<int>& whole_layers) {
  for (const int layer : whole_layers) {
    if (std::ranges::find(config.mixers, layer, &MixerDims::layer) != config.mixers.end()) continue;
    throw Error(ErrorKind::kUsage, "a layer to keep has no mixer",
                {.actual = fmt::format("layer {}", layer)});
  }
  const auto whole = [&](const MixerDims& d) { return IsWhole(d, whole_layers); };
  double all = 0.0, rest = 0.0;
  for (const MixerDims& d : config.mixers) {
    all += static_cast<double>(d.state_floats());
    if (!whole(d)) rest += static_cast<double>(d.state_floats());
  }
  const double share = rest > 0.0 ? sparsity * all / rest : 1.0;
  if (share >= 1.0 && sparsity > 0.0) {
    throw Error(ErrorKind::kUsage, "too many layers are kept whole for this sparsity",
                {.expected = fmt::format("a sparsity below {:.3f}", rest / all),
                 .actual = fmt::format("{}", sparsity)});
  }
  std::vector<double> shares;
  for (const MixerDims& d : config.mixers) shares.push_back(whole(d) || sparsity == 0.0 ? 0.0 : share);
  return shares;
}

std::vector<int> AllocateUnits(std::span<const BudgetCurve> curves, int64_t floats) {
  std::vector<int> kept(curves.size(), 1);
  for (const BudgetCurve& curve : curves) floats -= curve.unit_floats;
  std::vector<Jump> jumps;
  for (const BudgetCurve& curve : curves) jumps.push_back(BestJump(curve, 1, floats));
  for (;;) {
    size_t where = curves.size();
    for (size_t j = 0; j < curves.size(); ++j) {
      if (jumps[j].units > 0 && jumps[j].units * curves[j].unit_floats > floats)
        jumps[j] = BestJump(curves[j], kept[j], floats);
      if (jumps[j].units > 0 && (where == curves.size() || jumps[j].fall > jumps[where].fall)) where = j;
    }
    if (where == curves.size()) return kept;  // nothing fits any more
    kept[where] += jumps[where].units;
    floats -= jumps[where].units * curves[where].unit_floats;
    jumps[where] = BestJump(curves[where], kept[where], floats);
  }
}

std::vector<std::vector<int>> AllocateStates(const FinishInput& in, std::span<const LayerOutcome> outcomes) {
  const std::vector<MixerDims>& mixers = in.config.mixers;
  GHOST_CHECK(outcomes.size() == mixers.size() && in.sparsities.size() == mixers.size());
  std::vector<std::vector<int>> sizes;
  std::vector<GroupPool> pools;  // of all mixers that shrink
  std::vector<int64_t> floats;   // that each pool's mixer may keep
  for (size_t i = 0; i < mixers.size(); ++i) {
    sizes.emplace_back();
    for (int g = 0; g < mixers[i].num_groups(); ++g) sizes.back().push_back(mixers[i].group_size(g));
    if (in.sparsities[i] == 0.0 || mixers[i].state_channels() == 0) continue;
    SelectionRule rule = in.selection;
    rule.sparsity = in.sparsities[i];
    const int kept = mixers[i].state_channels() - NumPruned(rule, mixers[i].state_channels());
    // Whole channels where the mixer's own share counts, the exact one where only the sum does.
    const int64_t allowed =
        in.allocates ? static_cast<int64_t>(
                           (1.0 - rule.sparsity) * static_cast<double>(mixers[i].state_floats()) + 1e-6)
                     : mixers[i].state_floats() / mixers[i].state_channels() * kept;
    for (GroupPool& pool : PoolsOf(mixers[i], i, outcomes[i].errors, rule)) {
      pools.push_back(std::move(pool));
      floats.push_back(allowed);
    }
  }
  for (size_t begin = 0; begin < pools.size();) {
    size_t end = begin + 1;
    while (end < pools.size() && (in.allocates || pools[end].mixer == pools[begin].mixer)) ++end;
    std::vector<BudgetCurve> curves;
    int64_t budget = 0;
    for (size_t p = begin; p < end; ++p) {
      curves.push_back(pools[p].curve);
      if (p == begin || pools[p].mixer != pools[p - 1].mixer) budget += floats[p];
    }
    const std::vector<int> units = AllocateUnits(curves, budget);
    for (size_t p = begin; p < end; ++p) {
      for (const int g : pools[p].groups) {
        int& size = sizes[pools[p].mixer][static_cast<size_t>(g)];
        size = std::min(size, units[p - begin] * pools[p].unit);
      }
    }
    begin = end;
  }
  return sizes;
}

std::vector<double> AllocateSparsity(const Model& model, const Samples& samples,
                                     const SelectionRule& selection, const std::vector<int>& whole_layers,
                                     const std::function<void(int, int)>& progress) {
  const ModelConfig& config = model.config();
  // Also refuses what cannot be.
  std::vector<double> shares = SpreadSparsity(config, selection.sparsity, whole_layers);
  if (selection.sparsity == 0.0) return shares;
  const int64_t length = samples.empty() ? 0 : static_cast<int64_t>(samples[0].size());
  const int64_t stride = SampleStride(NumTokens(samples), length);
  CalibrationStream stream(model, samples);
  std::vector<BudgetCurve> curves;
  std::vector<size_t> ordinals;
  double floats = 0.0;
  while (!stream.done()) {
    const MixerDims& dims = stream.next_mixer().dims;
    const auto ordinal = static_cast<size_t>(stream.next_ordinal());
    const bool shrinks = !IsWhole(dims, whole_layers) && dims.state_channels() > 0;
    OutputGram gram(dims, stride);
    if (shrinks) stream.Observe(gram);
    stream.Advance(nullptr);
    if (shrinks) {
      curves.push_back(MakeCurve(dims, gram, stream.MeanSquare(), selection));
      ordinals.push_back(ordinal);
      floats += (1.0 - shares[ordinal]) * static_cast<double>(dims.state_floats());
    }
    if (progress) progress(stream.next_ordinal(), stream.num_mixers());
  }
  const std::vector<int> kept = AllocateUnits(curves, static_cast<int64_t>(floats + 1e-6));
  for (size_t i = 0; i < ordinals.size(); ++i) {
    const auto units = static_cast<double>(curves[i].errors.size() - 1);
    shares[ordinals[i]] = 1.0 - kept[i] / units;
  }
  return shares;
}

}  // namespace ghost
