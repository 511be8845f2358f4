#include "paper/fill_table.h"

#include <algorithm>
#include <cmath>

#include "analysis/mean.h"

namespace ghost {
namespace {

using Values = std::vector<double>;  // one per run

std::optional<double> NumberOrNothing(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

// Mean over runs, and for methods of chance also the lowest and highest.
TableRow MakeRow(const PaperRow& row, const std::vector<Values>& cells, int seeds) {
  TableRow out{.label = row.label};
  Cells lowest, highest;
  for (const Values& values : cells) {
    if (values.empty()) {
      for (Cells* list : {&out.values, &lowest, &highest}) list->emplace_back();
      continue;
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    out.values.emplace_back(Mean(values));
    lowest.emplace_back(*low);
    highest.emplace_back(*high);
  }
  if (row.cells.front().pruning.seeded) {
    out.runs = seeds;
    out.lowest = std::move(lowest);
    out.highest = std::move(highest);
  }
  return out;
}

PaperDocument MakeTableDocument(const PaperTable& table, TableContent content, bool across_models) {
  content.column_label = table.column_label;
  return {.id = table.id,
          .caption = table.caption,
          .across_models = across_models,
          .content = std::move(content)};
}

}  // namespace

PaperDocument FillTable(const PaperTable& table, const PaperModel& model, const PaperResults& results) {
  TableContent content{.columns = table.columns};
  for (const PaperRow& row : table.rows) {
    std::vector<Values> cells;
    Cells paper;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      cells.push_back(results.Values(model, row.cells.at(c)));
      paper.push_back(NumberOrNothing(row.paper.at(c)));
    }
    content.rows.push_back(MakeRow(row, cells, results.setup().seeds));
    content.rows.back().paper = std::move(paper);
  }
  return MakeTableDocument(table, std::move(content), /*across_models=*/false);
}

PaperDocument FillTableAcrossModels(const PaperTable& table, const std::vector<const PaperModel*>& models,
                                    const PaperResults& results) {
  TableContent content;
  for (const PaperModel* model : models) content.columns.push_back(model->name);
  for (const PaperRow& row : table.rows) {
    std::vector<Values> cells;
    Cells paper;
    for (const PaperModel* model : models) {
      cells.push_back(results.Values(*model, row.cells.front()));
      const auto found = std::find(table.columns.begin(), table.columns.end(), model->released);
      paper.push_back(
          found == table.columns.end()
              ? std::nullopt
              : NumberOrNothing(row.paper.at(static_cast<size_t>(found - table.columns.begin()))));
    }
    content.rows.push_back(MakeRow(row, cells, results.setup().seeds));
    content.rows.back().paper = std::move(paper);
  }
  return MakeTableDocument(table, std::move(content), /*across_models=*/true);
}

}  // namespace ghost
