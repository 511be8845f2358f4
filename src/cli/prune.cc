#include "commands/prune.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintPrune(const PruneResult& r) {
  for (const std::string& line : r.advice) fmt::print(stderr, "note: {}\n", line);
  fmt::print("wrote {} ({})\nstate per sequence: {} -> {}{}\n", r.options.output, NameOf(r.storage),
             Bytes(static_cast<double>(r.state_bytes_before)),
             Bytes(static_cast<double>(r.state_bytes_after)),
             r.storage == Storage::kMasked ? ", dropped channels are zeros" : "");
}

// --mask and --remove are what some scripts call two of the storages. They are not shown in --help.
void AddStorageSynonym(CLI::App& verb, const std::string& flag, const std::string& storage) {
  CLI::Option* option = verb.get_option("--storage");
  const auto choose = [option, flag, storage](int64_t) {
    if (option->count() > 0)
      throw Error(ErrorKind::kUsage, flag + " is --storage " + storage + ": choose one");
    option->add_result(storage);
    option->run_callback();
  };
  verb.add_flag_function(flag, choose)->group("");
}

}  // namespace

void AddPrune(CLI::App& app) {
  CLI::App* verb = AddVerb<PruneOptions>(
      app, "prune", "Calibrate, choose, and write a checkpoint with fewer state channels.",
      "ghost prune ./mamba2-130m --sparsity 0.5 --calibration text.txt --output ./smaller", Prune,
      PrintPrune);
  AddStorageSynonym(*verb, "--mask", "masked");
  AddStorageSynonym(*verb, "--remove", "uniform");
}

}  // namespace ghost
