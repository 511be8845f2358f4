#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/recall_table.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "commands/eval_result.h"

namespace ghost {
namespace {

constexpr size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

std::string Number(const std::optional<double>& value) {
  if (!value) return "N/A";
  return *value < 1e7 ? fmt::format("{:.4f}", *value) : fmt::format("{:.4e}", *value);
}

// What counts errors or surprise should be small.
std::string Direction(const std::string& metric) {
  for (const char* part : {"perplexity", "bits_per", "nll"}) {
    if (metric.find(part) != std::string::npos) return "↓";
  }
  return "↑";
}

// The name of the task is in its first row only.
std::vector<Row> MetricRows(const MetricTable& table) {
  std::vector<Row> rows;
  for (const MetricValue& metric : table.metrics) {
    rows.push_back({rows.empty() ? table.task : "", rows.empty() ? table.version : "",
                    std::to_string(table.shots), metric.name, Direction(metric.name), Number(metric.value),
                    "±", Number(metric.standard_error)});
  }
  return rows;
}

// Laid out as lm-evaluation-harness prints its results, so that the two can be read side by side.
void PrintTable(const std::vector<TaskOutcome>& results) {
  std::vector<Row> rows = {{"Tasks", "Version", "n-shot", "Metric", "", "Value", "", "Stderr"}};
  for (const TaskOutcome& result : results) {
    for (Row& row : MetricRows(MetricsOf(result))) rows.push_back(std::move(row));
  }
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) {
      const bool sign = c == 4 || c == 6;  // one character wide, however many bytes
      widths[c] = std::max(widths[c], sign ? size_t{1} : row[c].size());
    }
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line = "|", rule = "|";
    for (size_t c = 0; c < kColumns; ++c) {
      const bool right = c == 1 || c == 2 || c == 5 || c == 7;
      line += right ? fmt::format("{:>{}}|", rows[r][c], widths[c])
                    : fmt::format("{:<{}}|", rows[r][c], widths[c]);
      rule += right ? std::string(widths[c] - 1, '-') + ":|" : std::string(widths[c], '-') + "|";
    }
    fmt::print("{}\n", line);
    if (r == 0) fmt::print("{}\n", rule);
  }
}

struct DetailsPrinter {
  void operator()(const HarnessOutcome& r) const {
    for (const std::string& text : {r.warning(), r.note()}) {
      if (!text.empty()) fmt::print(stderr, "note: {}: {}\n", r.task, text);
    }
    fmt::print("{}: {} documents, {} requests, {:.1f} requests/s, {:.0f} tokens/s ({} of {} tokens run)\n",
               r.task, r.documents, r.counts.requests, r.requests_per_second(), r.tokens_per_second(),
               r.tokens_run, r.counts.input_tokens);
  }
  void operator()(const PerplexityOutcome&) const {}
  void operator()(const RecallOutcome& r) const { PrintRecall(r); }
};

void PrintEval(const EvalResult& r) {
  const int64_t limit = r.options.limit;
  fmt::print("{} ({}), limit: {}\n", r.run.model->path, r.dtype, limit == 0 ? "none" : std::to_string(limit));
  PrintTable(r.results);
  for (const TaskOutcome& outcome : r.results) std::visit(DetailsPrinter(), outcome);
}

}  // namespace

void AddEval(CLI::App& app) {
  AddVerb<EvalOptions>(app, "eval",
                       "Metrics of a model on a text or on tasks, as lm-evaluation-harness has them.",
                       "ghost eval ./mamba2-130m --task wikitext,piqa --data ./data", Evaluate, PrintEval);
}

}  // namespace ghost
