#include "commands/score.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintScore(const ScoreResult& r) {
  fmt::print("layer          min       median          max   weaker half holds\n");
  for (const ScoreSummary& s : r.layers) {
    fmt::print("{:<5} {:>12.4g} {:>12.4g} {:>12.4g}   {:>6.2f} % of the total\n", s.layer, s.min, s.median,
               s.max, 100.0 * s.share_of_lower_half);
  }
  fmt::print("\nwrote {}\n", r.options.output);
}

}  // namespace

void AddScore(CLI::App& app) {
  AddVerb<ScoreOptions>(
      app, "score", "The saliency of every state channel; nothing is pruned.",
      "ghost score ./mamba2-130m --calibration wiki.train.raw --samples 8 --output scores.safetensors", Score,
      PrintScore);
}

}  // namespace ghost
