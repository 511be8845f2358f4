#include <fmt/format.h>

#include "cli/recall_table.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "tasks/evaluate.h"

namespace ghost {
namespace {

void PrintEval(const OrderedJson& d) {
  fmt::print("{:<12} {:<10} {:>8} {:>9}   {:<14} {:>10}   {}\n", "task", "variant", "length", "tokens",
             "metric", "value", "stderr");
  for (const auto& r : d["results"]) {
    if (r["task"] == "recall") {
      PrintRecall(r);
      continue;
    }
    fmt::print("{:<12} {:<10} {:>8} {:>9}   {:<14} {:>10.4f}\n", r["task"].get<std::string>(),
               r["variant"].get<std::string>(), r["max_length"].get<int64_t>(),
               r["tokens_scored"].get<int64_t>(), "perplexity", r["perplexity"].get<double>());
    fmt::print("{:<12} {:<10} {:>8} {:>9}   {:<14} {:>10.4f}   {:.4f}\n", "", "", "", "", "nll per token",
               r["nll_per_token"].get<double>(), r["nll_per_token_stderr"].get<double>());
  }
}

}  // namespace

void AddEval(CLI::App& app) {
  AddVerb<EvalOptions>(app, "eval", "Metrics of a model on a text.",
                       "ghost eval ./mamba2-130m --task perplexity --data wiki.test.raw", Evaluate,
                       PrintEval);
}

}  // namespace ghost
