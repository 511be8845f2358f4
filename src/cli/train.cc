#include "commands/train.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintTrain(const OrderedJson& d) {
  fmt::print("wrote {} ({} parameters, {} tokens)\nloss {:.4f}", d["output"].get<std::string>(),
             Count(d["parameters"].get<double>()), Count(d["tokens"].get<double>()),
             d["final_loss"].get<double>());
  if (!d["validations"].empty()) {
    const OrderedJson& last = d["validations"].back();
    fmt::print(", held-out perplexity {:.3f}, {:.4f} bits per byte", last["perplexity"].get<double>(),
               last["bits_per_byte"].get<double>());
  }
  fmt::print("\n");
}

}  // namespace

void AddTrain(CLI::App& app) {
  AddVerb<TrainOptions>(
      app, "train", "Train a small Mamba2 from text.",
      "ghost train --corpus books.txt --tokenizer tokenizer.json --config tiny --steps 5000 "
      "--output ./tiny",
      Train, PrintTrain);
}

}  // namespace ghost
