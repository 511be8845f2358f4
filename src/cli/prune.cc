#include "commands/prune.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintPrune(const OrderedJson& d) {
  const double before = d["state_bytes_before"].get<double>(), after = d["state_bytes_after"].get<double>();
  for (const auto& line : d["advice"]) fmt::print(stderr, "note: {}\n", line.get<std::string>());
  fmt::print("wrote {} ({})\nstate per sequence: {} -> {}{}\n", d["output"].get<std::string>(),
             d["storage"].get<std::string>(), Bytes(before), Bytes(after),
             d["storage"] == "masked" ? ", dropped channels are zeros" : "");
}

}  // namespace

void AddPrune(CLI::App& app) {
  AddVerb<PruneOptions>(app, "prune", "Calibrate, choose, and write a checkpoint with fewer state channels.",
                        "ghost prune ./mamba2-130m --sparsity 0.5 --calibration text.txt --output ./smaller",
                        Prune, PrintPrune);
}

}  // namespace ghost
