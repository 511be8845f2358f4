#include "commands/train.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintTrain(const TrainResult& r) {
  fmt::print("wrote {} ({} parameters, {} tokens)\nloss {:.4f}", r.options.output,
             Count(static_cast<double>(r.parameters)), Count(static_cast<double>(r.tokens)), r.final_loss);
  if (!r.validations.empty()) {
    const ValidationSummary& last = r.validations.back();
    fmt::print(", held-out perplexity {:.3f}, {:.4f} bits per byte", last.perplexity, last.bits_per_byte);
  }
  fmt::print("\n");
}

}  // namespace

void AddTrain(CLI::App& app) {
  AddVerb<TrainOptions>(
      app, "train", "Train a small Mamba2 from text, or heal a pruned one.",
      "ghost train --corpus books.txt --tokenizer tokenizer.json --config tiny --steps 5000 "
      "--output ./tiny",
      Train, PrintTrain);
}

}  // namespace ghost
