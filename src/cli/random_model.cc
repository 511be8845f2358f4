#include "commands/random_model.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {

void AddRandomModel(CLI::App& app) {
  AddVerb<RandomModelOptions>(
      app, "random-model",
      "A checkpoint of a released shape with random weights, for trying runtimes and measuring.",
      "ghost random-model --shape mamba2-130m --output ./random-130m", MakeRandomCheckpoint,
      [](const RandomModelResult& r) { fmt::print("wrote {}\n", r.options.output); });
}

}  // namespace ghost
