#include <fmt/format.h>

#include <cmath>
#include <set>

#include "analysis/mean.h"
#include "base/units.h"
#include "report/line_chart.h"
#include "report/numbers.h"
#include "report/sections.h"

namespace ghost {
namespace {

// What a row has in a column, one number per run; shares in percent.
std::vector<double> ValuesOf(const EvalRow& row, const MetricColumn& column) {
  const auto found = row.values.find(column);
  std::vector<double> values = found == row.values.end() ? std::vector<double>{} : found->second;
  if (IsShare(column.name)) {
    for (double& value : values) value *= 100;
  }
  return values;
}

std::string Caption(const MetricColumn& column) {
  std::string text = column.task == column.name ? column.name : column.task + " " + column.name;
  if (IsShare(column.name)) text += ", %";
  return column.settings.empty() ? text : text + " (" + column.settings + ")";
}

std::set<MetricColumn> ColumnsOf(const EvalModel& model) {
  std::set<MetricColumn> columns;
  for (const auto& [kind, row] : model.rows) {
    for (const auto& [column, values] : row.values) columns.insert(column);
  }
  return columns;
}

std::string LabelOf(const PruningKind& kind) { return kind.method.empty() ? "(unpruned)" : kind.method; }

HtmlTable CostTable(const EvalModel& model, const std::set<MetricColumn>& columns) {
  HtmlTable table = {.columns = {"dropped", "method", "chosen by", "state per sequence"}, .text_columns = 3};
  for (const MetricColumn& column : columns) table.columns.push_back(Caption(column));
  for (const auto& [kind, row] : model.rows) {
    std::vector<std::string> cells = {std::isnan(kind.dropped) ? "" : Percent(kind.dropped), LabelOf(kind),
                                      kind.details,
                                      row.state_bytes ? Bytes(static_cast<double>(*row.state_bytes)) : ""};
    for (const MetricColumn& column : columns) {
      const std::vector<double> values = ValuesOf(row, column);
      cells.push_back(MeanAndSpread(values));
      if (values.size() > 1) cells.back() += fmt::format(" ({} seeds)", values.size());
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// One metric over the share that was dropped, a curve per method; all of them start at the unpruned model.
LineChart CostChart(const EvalModel& model, const MetricColumn& column) {
  LineChart chart = {.title = Caption(column), .x_label = "dropped, %", .y_label = column.name};
  std::vector<double> unpruned;
  if (const auto start = model.rows.find(PruningKind{}); start != model.rows.end()) {
    unpruned = ValuesOf(start->second, column);
  }
  std::map<std::string, ChartSeries> curves;
  double low = HUGE_VAL, high = 0;
  for (const auto& [kind, row] : model.rows) {
    const std::vector<double> values = ValuesOf(row, column);
    if (values.empty() || std::isnan(kind.dropped) || kind.method.empty()) continue;
    ChartSeries& curve = curves[kind.method + ", " + kind.details];
    if (curve.points.empty()) {
      curve.label = kind.method;
      curve.dots = true;
      if (!unpruned.empty()) curve.points.emplace_back(0.0, Mean(unpruned));
    }
    curve.points.emplace_back(100 * kind.dropped, Mean(values));
    low = std::min(low, curve.points.back().second), high = std::max(high, curve.points.back().second);
  }
  for (auto& [key, curve] : curves) chart.series.push_back(std::move(curve));
  if (!IsShare(column.name) && low > 0 && high > 4 * low) chart.y_scale = Scale::kLog;
  return chart;
}

// One picture per task: other metrics of it have the same shape. And only where there is more than one
// sparsity.
bool IsWorthACurve(const EvalModel& model, const MetricColumn& column) {
  if (column.name == "byte_perplexity" || column.name == "bits_per_byte" || column.name == "acc_norm")
    return false;
  std::set<double> dropped;
  for (const auto& [kind, row] : model.rows) {
    if (!std::isnan(kind.dropped) && kind.dropped > 0 && row.values.contains(column))
      dropped.insert(kind.dropped);
  }
  return dropped.size() > 1;
}

// What is remembered over how far back it was said; one picture per share that was dropped.
void AddRecallCharts(const EvalModel& model, HtmlPage& page) {
  std::map<double, LineChart> charts;
  const auto start = model.rows.find(PruningKind{});
  const auto curve_of = [](const PruningKind& kind, const EvalRow& row, LineChart& chart) {
    ChartSeries curve = {.label = LabelOf(kind), .dots = true};
    for (const auto& [distance, accuracy] : row.by_distance) {
      size_t place = 0;
      while (place < chart.x_names.size() && chart.x_names[place] != distance) ++place;
      if (place == chart.x_names.size()) chart.x_names.push_back(distance);
      curve.points.emplace_back(static_cast<double>(place), 100 * accuracy);
    }
    chart.series.push_back(std::move(curve));
  };
  for (const auto& [kind, row] : model.rows) {
    if (row.by_distance.empty() || kind.method.empty() || std::isnan(kind.dropped)) continue;
    LineChart& chart = charts[kind.dropped];
    if (chart.series.empty()) {
      chart.title = "Recall with " + Percent(kind.dropped) + " dropped";
      chart.x_label = "tokens between mention and question";
      chart.y_label = "right answers, %";
      if (start != model.rows.end()) curve_of(start->first, start->second, chart);
    }
    curve_of(kind, row, chart);
  }
  for (const auto& [dropped, chart] : charts) page.AddPicture(RenderSvg(chart));
}

}  // namespace

void AddEvalSection(const EvalResults& results, HtmlPage& page) {
  for (const auto& [hash, model] : results) {
    page.AddHeading("What pruning cost: " + (model.name.empty() ? hash : model.name));
    const std::set<MetricColumn> columns = ColumnsOf(model);
    page.AddTable(CostTable(model, columns));
    for (const MetricColumn& column : columns) {
      if (IsWorthACurve(model, column)) page.AddPicture(RenderSvg(CostChart(model, column)));
    }
    AddRecallCharts(model, page);
  }
}

}  // namespace ghost
