// The control: which channels go is chance.
#include "base/rng.h"
#include "prune/methods/table.h"

namespace ghost {
namespace {

// Uniform scores, so that the lowest n are a uniform choice of n channels; each layer has its own stream.
LayerOutcome DecideRandom(const DecisionInput& in) {
  Rng rng(in.seed * 1000003u + static_cast<uint64_t>(in.ordinal));
  std::vector<double> scores(static_cast<size_t>(in.mixer.dims.state_channels()));
  for (double& score : scores) score = rng.Uniform();
  return DropLowest(std::move(scores), in);
}

constexpr Method kRandomMethods[] = {{.name = "random",
                                      .help = "a uniform choice of channels by the seed",
                                      .decide = DecideRandom,
                                      .seeded = true,
                                      .scores_have_meaning = false}};

}  // namespace

std::span<const Method> MethodsOf_random() { return kRandomMethods; }

}  // namespace ghost
