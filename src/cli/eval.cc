#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/recall_table.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "commands/evaluate.h"

namespace ghost {
namespace {

constexpr size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

std::string Number(const OrderedJson& value) {
  if (!value.is_number()) return "N/A";
  const double number = value.get<double>();
  return number < 1e7 ? fmt::format("{:.4f}", number) : fmt::format("{:.4e}", number);
}

std::string TextOf(const OrderedJson& result, const char* key, const char* missing) {
  const auto it = result.find(key);
  if (it == result.end()) return missing;
  return it->is_string() ? it->get<std::string>() : it->dump();
}

// What counts errors or surprise should be small.
std::string Direction(const std::string& metric) {
  for (const char* part : {"perplexity", "bits_per", "nll"}) {
    if (metric.find(part) != std::string::npos) return "↓";
  }
  return "↑";
}

// A metric is a field that has its standard error beside it.
std::vector<Row> MetricRows(const OrderedJson& result) {
  std::vector<Row> rows;
  for (const auto& [key, value] : result.items()) {
    if (!result.contains(key + "_stderr")) continue;
    const std::string name = result["task"].get<std::string>() +
                             (result.contains("variant") ? "/" + TextOf(result, "variant", "") : "");
    rows.push_back({rows.empty() ? name : "", rows.empty() ? TextOf(result, "version", "") : "",
                    TextOf(result, "num_fewshot", "0"), key, Direction(key), Number(value), "±",
                    Number(result[key + "_stderr"])});
  }
  return rows;
}

// Laid out as lm-evaluation-harness prints its results, so that the two can be read side by side.
void PrintTable(const OrderedJson& results) {
  std::vector<Row> rows = {{"Tasks", "Version", "n-shot", "Metric", "", "Value", "", "Stderr"}};
  for (const OrderedJson& result : results) {
    for (Row& row : MetricRows(result)) rows.push_back(std::move(row));
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

void PrintEval(const OrderedJson& d) {
  const std::string limit = TextOf(d["options"], "limit", "0");
  fmt::print("{} ({}), limit: {}\n", TextOf(d["model"], "path", ""), TextOf(d, "dtype", ""),
             limit == "0" ? "none" : limit);
  PrintTable(d["results"]);
  for (const OrderedJson& r : d["results"]) {
    const std::string task = TextOf(r, "task", "");
    for (const char* key : {"warning", "note"}) {
      if (r.contains(key)) fmt::print(stderr, "note: {}: {}\n", task, TextOf(r, key, ""));
    }
    if (task == "recall") PrintRecall(r);
    if (!r.contains("requests")) continue;
    fmt::print("{}: {} documents, {} requests, {:.1f} requests/s, {:.0f} tokens/s ({} of {} tokens run)\n",
               task, r["documents"].get<int64_t>(), r["requests"].get<int64_t>(),
               r["requests_per_second"].get<double>(), r["tokens_per_second"].get<double>(),
               r["tokens_run"].get<int64_t>(), r["input_tokens"].get<int64_t>());
  }
}

}  // namespace

void AddEval(CLI::App& app) {
  AddVerb<EvalOptions>(app, "eval",
                       "Metrics of a model on a text or on tasks, as lm-evaluation-harness has them.",
                       "ghost eval ./mamba2-130m --task wikitext,piqa --data ./data", Evaluate, PrintEval);
}

}  // namespace ghost
