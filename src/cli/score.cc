#include "commands/score.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintScore(const OrderedJson& d) {
  fmt::print("layer          min       median          max   weaker half holds\n");
  for (const auto& l : d["layers"]) {
    fmt::print("{:<5} {:>12.4g} {:>12.4g} {:>12.4g}   {:>6.2f} % of the total\n", l["layer"].get<int>(),
               l["min"].get<double>(), l["median"].get<double>(), l["max"].get<double>(),
               100.0 * l["share_of_lower_half"].get<double>());
  }
  fmt::print("\nwrote {}\n", d["output"].get<std::string>());
}

}  // namespace

void AddScore(CLI::App& app) {
  AddVerb<ScoreOptions>(
      app, "score", "The saliency of every state channel; nothing is pruned.",
      "ghost score ./mamba2-130m --calibration wiki.train.raw --samples 8 --output scores.safetensors", Score,
      PrintScore);
}

}  // namespace ghost
