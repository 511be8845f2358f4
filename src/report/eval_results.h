// What `ghost eval` found, arranged for tables and curves: a row per kind of pruning, a column per metric.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/eval_document.h"

namespace ghost {

// What was measured: results may share a column only if all of this agrees.
struct MetricColumn {
  std::string task;
  std::string name;      // the harness's: "word_perplexity", "acc", ...
  std::string settings;  // "valid.txt, 512 tokens, first 100"
  auto operator<=>(const MetricColumn&) const = default;
};

// How a model was pruned, without the seed: runs that differ in the seed alone are one kind.
struct PruningKind {
  double dropped = 0.0;  // share of the state; NaN: chosen by hand
  std::string method;    // empty: not pruned
  std::string details;   // "64 x 512 tokens of books.txt; pool group"
  bool operator<(const PruningKind& other) const;
};

struct EvalRow {
  std::optional<int64_t> state_bytes;                       // per sequence
  std::map<MetricColumn, std::vector<double>> values;       // one per run
  std::vector<std::pair<std::string, double>> by_distance;  // accuracy of recall, of the last run
};

struct EvalModel {
  std::string name;  // of the unpruned model, or its hash where only pruned ones were measured
  std::map<PruningKind, EvalRow> rows;
};

using EvalResults = std::map<std::string, EvalModel>;  // by content hash of the unpruned model

EvalResults ArrangeEval(const EvalDocument& document);

// Adds `more` to `results`: runs of models pruned alike share a row.
void MergeEvals(EvalResults more, EvalResults& results);

}  // namespace ghost
