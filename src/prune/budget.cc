#include "prune/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace ghost {

std::vector<double> SpreadSparsity(const ModelConfig& config, double sparsity,
                                   const std::vector<int>& whole_layers) {
  for (const int layer : whole_layers) {
    if (std::ranges::find(config.mixers, layer, &MixerDims::layer) != config.mixers.end()) continue;
    throw Error(ErrorKind::kUsage, "a layer to keep has no mixer",
                {.actual = fmt::format("layer {}", layer)});
  }
  const auto whole = [&](const MixerDims& d) { return std::ranges::count(whole_layers, d.layer) > 0; };
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

}  // namespace ghost
