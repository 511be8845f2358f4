// The baseline by gradients: all layers are scored on the dense model before the first is pruned.
#include <array>

#include "prune/methods/table.h"
#include "prune/statistics/taylor_scores.h"

namespace ghost {
namespace {

constexpr auto kVariants = [] {
  std::array<std::string_view, std::size(kTaylorVariants)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = NameOf(kTaylorVariants[i]);
  return names;
}();

Preparation PrepareTaylor(const PrepareInput& in) {
  return ScoreTaylor(in.model, in.samples, TaylorVariantFromName(in.variant), in.progress).mixers;
}

LayerOutcome DecideTaylor(const DecisionInput& in) {
  return DropLowest({in.prepared.begin(), in.prepared.end()}, in);
}

constexpr Method kTaylorMethods[] = {
    {.name = "taylor",
     .help = "channels that gradients of the loss on the dense model call least important",
     .decide = DecideTaylor,
     .prepare = PrepareTaylor,
     .one_shot = true,
     .variants = kVariants}};

}  // namespace

std::span<const Method> MethodsOf_taylor() { return kTaylorMethods; }

}  // namespace ghost
