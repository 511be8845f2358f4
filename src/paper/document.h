// One table or figure of the paper as it was reproduced: the content of a document of schema ghost.reproduce.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "paper/method_diagram.h"

namespace ghost {

using Cells = std::vector<std::optional<double>>;  // nothing: not measured, or not in the paper

struct TableRow {
  std::string label;
  Cells values;             // means over runs
  std::optional<int> runs;  // of methods that are a matter of chance
  Cells lowest, highest;    // over these runs
  Cells paper;              // what the paper prints
};

struct TableContent {
  std::string column_label;
  std::vector<std::string> columns;
  std::vector<TableRow> rows;
};

// Figure 1.
struct ProxySummary {
  double pearson = 0.0, phantom = 0.0, corporeal = 0.0;  // analysis/proxy_failure.h
};
struct ProxyContent {
  ProxySummary by_median, by_mean, paper;
  std::vector<std::pair<double, double>> points;
};

// Figure 2.
struct MethodContent {
  BlockSizes sizes;
};

// Figure 3: what pruning takes, the forward pass first.
struct CostRow {
  std::string method;
  double forward_passes = 0.0, memory_bytes = 0.0;
};
struct CostContent {
  std::vector<CostRow> methods, paper;
};

// Figure 6.
struct ElbowContent {
  std::vector<double> curve;
  int rank = 0;
  int paper_rank = 0, paper_length = 0;
};

// Figure 7: the scores of every layer over the layer's maximum.
struct HeatMapContent {
  std::vector<std::vector<double>> layers;
};

using PaperContent =
    std::variant<TableContent, ProxyContent, MethodContent, CostContent, ElbowContent, HeatMapContent>;

struct PaperDocument {
  std::string id;    // "T1" to "T9", "F1" to "F7"; F4 and F5 show tables as pictures
  std::string name;  // id and model
  std::string caption;
  bool quick = false;          // measured on little data
  bool across_models = false;  // else of one model
  PaperContent content;

  bool is_table() const { return id.starts_with('T'); }
};

// Whether the points of pictures are written, or only what people read.
enum class Detail { kEverything, kSummary };

// Adds id, name, caption and content to the head of a document.
void AddContent(const PaperDocument& paper, Detail detail, OrderedJson& document);

// One that is not as its schema says is an Error or a Json::exception.
PaperDocument ReadPaperDocument(const Json& document);

}  // namespace ghost
