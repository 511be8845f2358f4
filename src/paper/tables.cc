#include "paper/tables.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "prune/method.h"

namespace ghost {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kWikitext = "wikitext";
constexpr const char* kWordPerplexity = "word_perplexity";

// What the tables call a method of prune/method.h; without a name: the dense model.
struct NamedMethod {
  const char* label;
  const char* name;
};
constexpr NamedMethod kDense{"Dense", ""}, kSparseGpt{"SparseGPT", "sparsegpt"},
    kMagnitude{"Magnitude", "magnitude"}, kRandom{"Random", "random"}, kTaylor{"Taylor", "taylor"},
    kGhost{"GHOST", "ghost"}, kGhostP{"P only", "ghost-p"}, kGhostQ{"Q only", "ghost-q"};

PruneSetting Setting(const NamedMethod& method, double sparsity = 0.5, int64_t length = 2048,
                     int64_t samples = 128) {
  PruneSetting setting = {.method = method.name, .sparsity = sparsity, .samples = samples, .length = length};
  if (setting.method.empty()) return setting;
  const Method& known = FindMethod(setting.method);
  if (known.needs_calibration()) setting.source = kWikitext;
  setting.seeded = known.seeded;
  return setting;
}

Measurement Perplexity(PruneSetting setting, int64_t max_length = 2048) {
  return {std::move(setting), kWikitext, kWordPerplexity, max_length};
}

// One row per method: `paper` in the order of `columns`, the cells from `measure(method, column)`.
template <class Column>
struct RowMaker {
  std::vector<Column> columns;
  PaperTable& table;
  Measurement (*measure)(const NamedMethod&, Column);

  void Add(const NamedMethod& method, std::vector<double> paper) {
    PaperRow row = {method.label, {}, std::move(paper)};
    for (const Column& column : columns) row.cells.push_back(measure(method, column));
    table.rows.push_back(std::move(row));
  }
};

std::vector<std::string> Percents(const std::vector<double>& shares) {
  std::vector<std::string> names;
  for (const double share : shares) names.push_back(fmt::format("{:.0f} %", 100 * share));
  return names;
}

std::vector<std::string> Numbers(const std::vector<int64_t>& values) {
  std::vector<std::string> names;
  for (const int64_t value : values) names.push_back(std::to_string(value));
  return names;
}

const std::vector<double> kSparsities = {0.1, 0.3, 0.5, 0.7, 0.9};

Measurement AtSparsity(const NamedMethod& method, double sparsity) {
  return Perplexity(Setting(method, sparsity));
}

PaperTable SparsitySweep() {
  PaperTable table = {
      "T1", "Sparsity sweep: word perplexity on WikiText-2", "dropped", Percents(kSparsities), {}};
  RowMaker<double> rows{kSparsities, table, AtSparsity};
  rows.Add(kDense, {13.17, 13.17, 13.17, 13.17, 13.17});
  rows.Add(kSparseGpt, {13.17, 13.19, 13.25, 13.52, 15.51});
  rows.Add(kMagnitude, {427.7, 22.39, 29.34, 39.96, 69.49});
  rows.Add(kRandom, {13.52, 15.04, 17.77, 30.14, 64.21});
  rows.Add(kTaylor, {13.18, 13.26, 13.94, 4255, 4690});
  rows.Add(kGhost, {13.24, 13.51, 14.23, 16.16, 25.07});
  return table;
}

PaperTable LengthGeneralisation() {
  const std::vector<int64_t> lengths = {128, 256, 512, 1024, 2048};
  PaperTable table = {"T2",
                      "Length generalisation: calibrated on 128 tokens, evaluated on more",
                      "evaluated on",
                      Numbers(lengths),
                      {}};
  RowMaker<int64_t> rows{lengths, table, [](const NamedMethod& method, int64_t length) {
                           return Perplexity(Setting(method, 0.5, /*length=*/128), length);
                         }};
  rows.Add(kDense, {23.04, 18.52, 15.88, 14.20, 13.18});
  rows.Add(kSparseGpt, {23.11, 18.59, 15.96, 14.29, 13.27});
  rows.Add(kMagnitude, {32.76, 27.96, 26.38, 27.32, 29.34});
  rows.Add(kRandom, {27.81, 22.89, 20.17, 18.59, 17.77});
  rows.Add(kTaylor, {317.3, 386.9, 497.8, 797.0, 1613});
  rows.Add(kGhost, {23.99, 19.46, 16.85, 15.22, 14.27});
  return table;
}

PaperTable LengthRobustness() {
  const std::vector<int64_t> lengths = {16, 32, 64, 128, 256, 512, 1024, 2048};
  PaperTable table = {
      "T3", "Length robustness: calibrated and evaluated on the same length", "tokens", Numbers(lengths), {}};
  RowMaker<int64_t> rows{lengths, table, [](const NamedMethod& method, int64_t length) {
                           return Perplexity(Setting(method, 0.5, length), length);
                         }};
  rows.Add(kDense, {91.24, 49.81, 31.73, 23.04, 18.52, 15.88, 14.20, 13.17});
  rows.Add(kSparseGpt, {91.37, 49.87, 31.79, 23.11, 18.58, 15.95, 14.27, 13.25});
  rows.Add(kMagnitude, {113.7, 65.29, 43.22, 32.76, 27.96, 26.38, 27.32, 29.34});
  rows.Add(kRandom, {101.9, 57.48, 37.54, 27.81, 22.89, 20.17, 18.59, 17.77});
  rows.Add(kTaylor, {139.3, 178.9, 276.7, 317.3, 499.0, 766.3, 14.94, 13.94});
  rows.Add(kGhost, {92.75, 51.01, 32.76, 23.99, 19.44, 16.82, 15.19, 14.23});
  return table;
}

// One measurement for all models; columns are those of the paper until the models are known.
void AddModelRow(PaperTable& table, const NamedMethod& method, std::vector<double> paper) {
  table.rows.push_back({method.label, {Perplexity(Setting(method))}, std::move(paper)});
}

PaperTable Scaling() {
  PaperTable table = {"T4",
                      "Model sizes: word perplexity on WikiText-2, half of the state dropped",
                      "model",
                      {"mamba2-130m", "mamba2-370m", "mamba2-780m", "mamba2-1.3b", "mamba2-2.7b"},
                      {}};
  table.across_models = true;
  AddModelRow(table, kDense, {25.85, 18.13, 14.97, 13.17, 11.46});
  AddModelRow(table, kSparseGpt, {26.17, 18.34, 15.08, 13.25, 11.51});
  AddModelRow(table, kMagnitude, {910.0, 120.3, 30.57, 29.34, 20.04});
  AddModelRow(table, kRandom, {45.60, 23.71, 5197, 17.77, 15.93});
  AddModelRow(table, kTaylor, {1e16, 12647, 15.13, 13.94, 11.50});
  AddModelRow(table, kGhost, {29.06, 19.96, 16.13, 14.23, 12.14});
  return table;
}

constexpr const char* kZeroShot[] = {"lambada_openai", "piqa", "arc_easy", "arc_challenge"};

// Calibrated on each task, as the paper does; `source` chooses another text for all of them.
PaperRow ZeroShotRow(const NamedMethod& method, const char* source, std::vector<double> paper) {
  PaperRow row = {method.label, {}, std::move(paper)};
  if (source != nullptr) row.label += std::string(", calibrated on ") + source;
  for (const char* task : kZeroShot) {
    PruneSetting setting = Setting(method);
    if (!setting.source.empty() && source == nullptr) setting.source = task;
    row.cells.push_back({std::move(setting), task, "acc"});
  }
  return row;
}

PaperTable ZeroShot() {
  PaperTable table = {"T5",
                      "Zero-shot accuracy in percent, calibrated on each task",
                      "task",
                      {"LAMBADA", "PIQA", "ARC-e", "ARC-c"},
                      {}};
  table.rows = {ZeroShotRow(kDense, nullptr, {65.55, 73.34, 64.23, 29.95}),
                ZeroShotRow(kSparseGpt, nullptr, {62.76, 73.23, 64.06, 30.20}),
                ZeroShotRow(kMagnitude, nullptr, {17.50, 70.08, 58.04, 25.68}),
                ZeroShotRow(kRandom, nullptr, {31.21, 70.89, 59.55, 28.07}),
                ZeroShotRow(kTaylor, nullptr, {59.23, 72.91, 63.85, 29.69}),
                ZeroShotRow(kGhost, nullptr, {51.76, 73.12, 63.72, 29.10})};
  for (const NamedMethod& method : {kSparseGpt, kTaylor, kGhost}) {
    table.rows.push_back(ZeroShotRow(method, kWikitext, {kNone, kNone, kNone, kNone}));
  }
  return table;
}

PaperTable DataScarcity() {
  const std::vector<int64_t> samples = {8, 16, 32, 64, 128};
  PaperTable table = {
      "T6", "Size of the calibration set: word perplexity on WikiText-2", "samples", Numbers(samples), {}};
  RowMaker<int64_t> rows{samples, table, [](const NamedMethod& method, int64_t count) {
                           return Perplexity(Setting(method, 0.5, 2048, count));
                         }};
  rows.Add(kSparseGpt, {13.27, 13.26, 13.25, 13.25, 13.25});
  rows.Add(kTaylor, {13.30, 13.33, 13.30, 13.35, 13.94});
  rows.Add(kGhost, {14.28, 14.26, 14.23, 14.23, 14.23});
  return table;
}

PaperTable OutOfDistribution() {
  PaperTable table = {
      "T7",
      "Out of distribution, calibrated on WikiText-2: word perplexity; right answers in percent",
      "task",
      {"WikiText-2", "HumanEval pass@1", "MMLU mathematics"},
      {}};
  const auto add = [&](const NamedMethod& method, std::vector<double> paper) {
    const PruneSetting setting = Setting(method);
    table.rows.push_back({method.label,
                          {Perplexity(setting),
                           {setting, "humaneval", "pass@1"},
                           {setting, "mmlu_elementary_mathematics", "acc"}},
                          std::move(paper)});
  };
  add(kDense, {13.17, 6.71, 21.43});
  add(kSparseGpt, {13.25, 5.49, 22.75});
  add(kMagnitude, {29.34, 0.61, 25.66});
  add(kRandom, {17.77, 4.27, 21.43});
  add(kTaylor, {13.94, 4.88, 22.49});
  add(kGhost, {14.23, 5.49, 25.66});
  return table;
}

PaperTable SaliencyAblation() {
  PaperTable table = {
      "T8", "What the score is made of: word perplexity on WikiText-2", "dropped", Percents(kSparsities), {}};
  RowMaker<double> rows{kSparsities, table, AtSparsity};
  rows.Add(kGhostP, {13.26, 13.64, 14.56, 16.71, 2158});
  rows.Add(kGhostQ, {13.37, 14.23, 16.16, 19.83, 33.12});
  rows.Add(kGhost, {13.24, 13.51, 14.23, 16.16, 25.07});
  return table;
}

PaperTable Hybrids() {
  PaperTable table = {"T9",
                      "Zamba2: word perplexity on WikiText-2, half of the state dropped",
                      "model",
                      {"zamba2-1.2b", "zamba2-2.7b"},
                      {}};
  table.across_models = true;
  table.family = "zamba2";
  AddModelRow(table, kDense, {11.15, 19.79});
  AddModelRow(table, kSparseGpt, {11.21, 19.76});
  AddModelRow(table, kMagnitude, {1.0e5, 51.89});
  AddModelRow(table, kRandom, {451.7, 51.46});
  AddModelRow(table, kTaylor, {3.0e8, 3.5e5});
  AddModelRow(table, kGhost, {11.80, 21.23});
  return table;
}

}  // namespace

std::string PruneSetting::Name() const {
  if (method.empty()) return "dense";
  std::string name = fmt::format("{}-{:g}", method, 100 * sparsity);
  if (!source.empty()) name += fmt::format("-{}-{}x{}", source, samples, length);
  return seeded || !source.empty() ? name + fmt::format("-seed{}", seed) : name;
}

PaperTable MakePaperTable(std::string_view id) {
  static constexpr struct {
    std::string_view id;
    PaperTable (*make)();
  } kTables[] = {{"T1", SparsitySweep},
                 {"T2", LengthGeneralisation},
                 {"T3", LengthRobustness},
                 {"T4", Scaling},
                 {"T5", ZeroShot},
                 {"T6", DataScarcity},
                 {"T7", OutOfDistribution},
                 {"T8", SaliencyAblation},
                 {"T9", Hybrids}};
  for (const auto& table : kTables) {
    if (table.id == id) return table.make();
  }
  throw Error(ErrorKind::kUsage, "no such table", {.expected = "T1 to T9", .actual = std::string(id)});
}

}  // namespace ghost
