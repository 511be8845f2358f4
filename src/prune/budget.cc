#include "prune/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "prune/calibration_stream.h"
#include "prune/statistics/output_gram.h"

namespace ghost {
namespace {

bool IsWhole(const MixerDims& dims, const std::vector<int>& whole_layers) {
  return std::ranges::count(whole_layers, dims.layer) > 0;
}

// A sampled step costs R N^2 multiply-adds, about as much as its layer's forward pass over a few tokens, so a
// large calibration is not sampled more often than a small one. Odd, because lists of recall documents repeat
// every 4 tokens.
int64_t SampleStride(const Samples& samples) {
  constexpr int64_t kSteps = 2500, kSmallest = 13;
  int64_t tokens = 0;
  for (const auto& sample : samples) tokens += static_cast<int64_t>(sample.size());
  const int64_t stride = std::max(kSmallest, (tokens + kSteps - 1) / kSteps);
  return stride % 2 == 0 ? stride + 1 : stride;
}

double MeanSquare(ConstView rows) {
  double sum = 0.0;
  for (int64_t t = 0; t < rows.rows; ++t) {
    for (int64_t m = 0; m < rows.cols; ++m) sum += double{rows.Row(t)[m]} * rows.Row(t)[m];
  }
  return rows.rows == 0 ? 0.0 : sum / static_cast<double>(rows.rows);
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
  for (;;) {
    double best = 0.0;
    size_t where = curves.size();
    int jump = 0;
    for (size_t j = 0; j < curves.size(); ++j) {
      const auto from = static_cast<size_t>(kept[j]);
      for (size_t to = from + 1; to < curves[j].errors.size(); ++to) {
        const auto cost = static_cast<int64_t>(to - from) * curves[j].unit_floats;
        if (cost > floats) break;
        const double fall = (curves[j].errors[from] - curves[j].errors[to]) / static_cast<double>(cost);
        if (where < curves.size() && fall <= best) continue;
        best = fall;
        where = j;
        jump = static_cast<int>(to - from);
      }
    }
    if (where == curves.size()) return kept;  // nothing fits any more
    kept[where] += jump;
    floats -= jump * curves[where].unit_floats;
  }
}

std::vector<double> AllocateSparsity(const Model& model, const Samples& samples,
                                     const SelectionRule& selection, const std::vector<int>& whole_layers,
                                     const std::function<void(int, int)>& progress) {
  const ModelConfig& config = model.config();
  // Also refuses what cannot be.
  std::vector<double> shares = SpreadSparsity(config, selection.sparsity, whole_layers);
  if (selection.sparsity == 0.0) return shares;
  const int64_t length = samples.empty() ? 0 : static_cast<int64_t>(samples[0].size());
  const int64_t stride = std::min(SampleStride(samples), std::max<int64_t>(1, length));
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
      curves.push_back(MakeCurve(dims, gram, MeanSquare(stream.residual()), selection));
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
