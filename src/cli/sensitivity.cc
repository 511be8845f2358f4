#include "commands/sensitivity.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintSensitivity(const SensitivityResult& r) {
  const bool recall = r.dense.recall.has_value();
  fmt::print("one mixer at a time shrunk by {}; {} windows of {} tokens", r.options.method, r.windows,
             r.max_length);
  if (recall) {
    fmt::print(", {} recall documents (standard error of recall {:.1f})", r.options.recall_documents,
               100.0 * r.dense.recall->standard_error);
  }
  fmt::print("\n\n{:<5} {:>6} {:>6}  {:>10}  {:>9}{}  {:>9}{}\n", "layer", "N", "kept", "perplexity", "delta",
             recall ? "    recall   delta" : "", "KL", recall ? "  KL recall" : "");
  fmt::print("{:<19}  {:>10.2f}{}\n", "dense", r.dense.perplexity,
             recall ? fmt::format("  {:>19.1f} %", 100.0 * r.dense.recall->accuracy) : "");
  for (const ShrunkMixer& row : r.rows) {
    const ModelQuality& q = row.quality;
    fmt::print("{:<5} {:>6} {:>6}  {:>10.2f}  {:>+9.2f}", row.layer, row.channels, row.kept, q.perplexity,
               q.perplexity - r.dense.perplexity);
    if (recall) {
      fmt::print("  {:>6.1f} %  {:>+6.1f}", 100.0 * q.recall->accuracy,
                 100.0 * (q.recall->accuracy - r.dense.recall->accuracy));
    }
    fmt::print("  {:>9.5f}", q.kl);
    if (recall) fmt::print("  {:>9.5f}", q.recall_kl);
    fmt::print("\n");
  }
}

}  // namespace

void AddSensitivity(CLI::App& app) {
  AddVerb<SensitivityOptions>(
      app, "sensitivity", "What each layer's state is needed for; nothing is pruned.",
      "ghost sensitivity ./mamba2-130m --calibration train.txt --data held-out.txt --output layers.json",
      Sensitivity, PrintSensitivity);
}

}  // namespace ghost
