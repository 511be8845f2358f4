// The paper's tables: what each cell asks to be measured, and the figure the paper prints there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

// How a model is pruned before it is measured.
struct PruneSetting {
  std::string method;  // empty: not at all
  double sparsity = 0.5;
  std::string source;  // the text to calibrate on: "wikitext" or the name of a task; empty: none
  int64_t samples = 128;
  int64_t length = 2048;
  uint64_t seed = 42;
  bool seeded = false;  // the method is a matter of chance: measured with several seeds

  // Equal settings have equal names; fit for a file name.
  std::string Name() const;
};

struct Measurement {
  PruneSetting pruning;
  std::string task;
  std::string metric;
  int64_t max_length = 2048;
};

struct PaperRow {
  std::string label;
  std::vector<Measurement> cells;  // one per column; in tables across models one for all
  std::vector<double> paper;       // per column; NaN or missing: the paper has none
};

struct PaperTable {
  std::string id;  // "T1"
  std::string caption;
  std::string column_label;  // what differs between the columns
  std::vector<std::string> columns;
  std::vector<PaperRow> rows;
  // A column per model, named like the released shape it has; else one table per model.
  bool across_models = false;
  std::string family = "mamba2";  // across_models: of which family
};

// "T1" to "T9". Error(kUsage) for others.
PaperTable MakePaperTable(std::string_view id);

}  // namespace ghost
