#include "cli/recall_table.h"

#include <fmt/format.h>

#include <string>

namespace ghost {
namespace {

void PrintRate(const std::string& group, const std::string& name, const RecallRate& rate) {
  fmt::print("{:<10} {:<8} {:>8} {:>9.1f} % +- {:<5.1f} {:>8.3f}\n", group, name, rate.queries,
             100.0 * rate.accuracy, 100.0 * rate.standard_error, rate.nll);
}

}  // namespace

void PrintRecall(const RecallOutcome& outcome) {
  fmt::print("recall of {} held-out documents, seed {}, {} tokens\n", outcome.documents, outcome.seed,
             outcome.tokens);
  fmt::print("{:<10} {:<8} {:>8} {:>20} {:>8}\n", "group", "", "queries", "exact match", "nll");
  const RecallResult& result = outcome.result;
  PrintRate("all", "", result.all);
  for (const RecallRate& rate : result.by_kind) PrintRate("kind", rate.kind, rate);
  for (const RecallRate& rate : result.by_distance) PrintRate("distance", rate.distance, rate);
  for (const RecallRate& rate : result.by_pairs) PrintRate("pairs", rate.pairs, rate);
}

}  // namespace ghost
