// What `ghost eval` finds, task by task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "commands/document.h"
#include "commands/evaluate.h"
#include "eval/language_model.h"
#include "eval/recall.h"
#include "eval/task.h"

namespace ghost {

struct MetricValue {
  std::string name;
  std::optional<double> value, standard_error;  // nothing: not measured, or no error can be given
};

// A task of lm-evaluation-harness.
struct HarnessOutcome {
  std::string task;
  int version = 0, shots = 0;
  std::vector<MetricValue> metrics;  // under the harness's names
  std::string file;
  int64_t documents = 0, documents_in_file = 0;
  int64_t published_documents = 0;  // of the split that everybody reports
  OrderedJson details = OrderedJson::object();
  std::optional<CodeExecution> execution;
  int64_t max_length = 0;
  std::string bos;
  int32_t prefix_token = -1;
  bool sharing = true;
  int batch = 0;
  RequestCounts counts;    // input tokens: of all requests, each from its first token
  int64_t tokens_run = 0;  // through the model: fewer where requests share a prefix
  double seconds = 0.0;

  double requests_per_second() const { return static_cast<double>(counts.requests) / seconds; }
  double tokens_per_second() const { return static_cast<double>(counts.input_tokens) / seconds; }
  std::string warning() const;  // of documents that are not the published ones, or empty
  std::string note() const;     // of programs that were not run, or empty
};

// Perplexity of one text.
struct PerplexityOutcome {
  std::string variant;
  std::string join;                  // empty when token ids were given
  std::vector<MetricValue> metrics;  // perplexity, nll_per_token, bits_per_byte
  int64_t max_length = 0, windows = 0, tokens_total = 0, tokens_scored = 0, text_bytes = 0;
};

struct RecallOutcome {
  uint32_t seed = 0;
  int64_t documents = 0, tokens = 0;
  RecallResult result;
};

using TaskOutcome = std::variant<HarnessOutcome, PerplexityOutcome, RecallOutcome>;
OrderedJson ToJson(const TaskOutcome& outcome);

// The lines of a table of results that one task fills.
struct MetricTable {
  std::string task;     // with its variant: "perplexity/windows"
  std::string version;  // empty: it has none
  int shots = 0;
  std::vector<MetricValue> metrics;
};
MetricTable MetricsOf(const TaskOutcome& outcome);

struct EvalResult {
  EvalOptions options;
  RunRecord run;
  std::string dtype;  // of the embedding
  int64_t state_bytes_per_sequence = 0;
  OrderedJson pruning;  // the record that pruning left beside the weights, as it is; or null
  std::vector<TaskOutcome> results;
};
OrderedJson ToJson(const EvalResult& result);

}  // namespace ghost
