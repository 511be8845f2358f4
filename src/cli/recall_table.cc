#include "cli/recall_table.h"

#include <fmt/format.h>

#include <string>

namespace ghost {
namespace {

void PrintRate(const std::string& group, const std::string& name, const OrderedJson& rate) {
  fmt::print("{:<10} {:<8} {:>8} {:>9.1f} % +- {:<5.1f} {:>8.3f}\n", group, name,
             rate["queries"].get<int64_t>(), 100.0 * rate["accuracy"].get<double>(),
             100.0 * rate["accuracy_stderr"].get<double>(), rate["nll_per_query"].get<double>());
}

}  // namespace

void PrintRecall(const OrderedJson& result) {
  fmt::print("recall of {} held-out documents, seed {}, {} tokens\n", result["documents"].get<int64_t>(),
             result["seed"].get<int64_t>(), result["tokens"].get<int64_t>());
  fmt::print("{:<10} {:<8} {:>8} {:>20} {:>8}\n", "group", "", "queries", "exact match", "nll");
  PrintRate("all", "", result);
  for (const char* group : {"kind", "distance", "pairs"}) {
    for (const auto& rate : result["by_" + std::string(group)])
      PrintRate(group, rate[group].get<std::string>(), rate);
  }
}

}  // namespace ghost
