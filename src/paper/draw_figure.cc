#include "paper/draw_figure.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "report/bar_chart.h"
#include "report/line_chart.h"
#include "report/numbers.h"
#include "report/scatter_chart.h"
#include "report/score_pictures.h"

namespace ghost {
namespace {

double NumberOrNone(const std::optional<double>& cell) {
  return cell.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::string DrawLengths(const TableContent& table) {
  LineChart chart = {.title = "Calibrated and evaluated on the same length",
                     .x_label = "tokens",
                     .y_label = "word perplexity",
                     .x_scale = Scale::kLog,
                     .y_scale = Scale::kLog};
  for (const TableRow& row : table.rows) {
    ChartSeries series = {.label = row.label, .dots = true};
    for (size_t c = 0; c < table.columns.size(); ++c) {
      series.points.emplace_back(std::strtod(table.columns[c].c_str(), nullptr), NumberOrNone(row.values[c]));
    }
    chart.series.push_back(std::move(series));
  }
  return RenderSvg(chart);
}

std::string DrawZeroShot(const TableContent& table) {
  BarChart chart = {.title = "Zero-shot accuracy", .y_label = "right answers, %"};
  chart.groups = table.columns;
  for (const TableRow& row : table.rows) {
    if (row.label.find(',') != std::string::npos) continue;  // other calibration: in the table only
    BarSeries series = {.label = row.label};
    for (const std::optional<double>& value : row.values) series.values.push_back(NumberOrNone(value));
    chart.series.push_back(std::move(series));
  }
  return RenderSvg(chart);
}

struct FigureDrawer {
  const std::string& id;

  std::string operator()(const TableContent& table) const {
    if (id == "F4") return DrawLengths(table);
    if (id == "F5") return DrawZeroShot(table);
    throw Error(ErrorKind::kCorrupt, "no such figure", {.expected = "F1 to F7", .actual = id});
  }
  std::string operator()(const ProxyContent& proxy) const {
    return RenderSvg(ScatterChart{.title = "Static magnitude against dynamic energy",
                                  .x_label = "static score, standardised per layer",
                                  .y_label = "GHOST score, standardised",
                                  .points = proxy.points,
                                  .cross = true});
  }
  std::string operator()(const MethodContent& method) const { return DrawMethod(method.sizes); }
  // Time and memory, each over what the forward pass needs.
  std::string operator()(const CostContent& cost) const {
    BarChart chart = {
        .title = "Cost of pruning", .y_label = "in forward passes", .series = {{"time"}, {"memory"}}};
    const double forward_bytes = cost.methods.empty() ? 1.0 : cost.methods.front().memory_bytes;
    for (const CostRow& row : cost.methods) {
      chart.groups.push_back(row.method);
      chart.series[0].values.push_back(row.forward_passes);
      chart.series[1].values.push_back(row.memory_bytes / forward_bytes);
    }
    return RenderSvg(chart);
  }
  std::string operator()(const ElbowContent& elbow) const {
    return DrawSortedScores({elbow.curve, elbow.rank});
  }
  std::string operator()(const HeatMapContent& map) const { return DrawScoreMap(map.layers, /*kept=*/{}); }
};

std::string ProxyText(const ProxySummary& p) {
  return fmt::format("correlation {:.2f}, phantom {:.1f} %, corporeal {:.1f} %", p.pearson, 100 * p.phantom,
                     100 * p.corporeal);
}

std::string CostText(const std::vector<CostRow>& rows) {
  std::string text;
  for (const CostRow& row : rows) {
    text += fmt::format("{}{} {} passes, {:.2f} GB", text.empty() ? "" : "; ", row.method,
                        ShortNumber(row.forward_passes), row.memory_bytes / 1e9);
  }
  return text;
}

struct FigureDescriber {
  std::string operator()(const ProxyContent& proxy) const {
    return "Standardised by median and quartiles: " + ProxyText(proxy.by_median) +
           "; by mean and deviation: " + ProxyText(proxy.by_mean) +
           ". The paper, on Mamba2-1.3B: " + ProxyText(proxy.paper) + ".";
  }
  std::string operator()(const CostContent& cost) const {
    return "Measured here: " + CostText(cost.methods) +
           ". The paper, on Mamba2-1.3B: " + CostText(cost.paper) + ".";
  }
  std::string operator()(const ElbowContent& elbow) const {
    return fmt::format("The curve bends at rank {} of {}; the paper's, of Mamba2-1.3B, at about {} of {}.",
                       elbow.rank, elbow.curve.size(), elbow.paper_rank, elbow.paper_length);
  }
  std::string operator()(const auto&) const { return ""; }
};

}  // namespace

std::string DrawPaperFigure(const PaperDocument& figure) {
  return std::visit(FigureDrawer{figure.id}, figure.content);
}

std::string DescribePaperFigure(const PaperDocument& figure) {
  return std::visit(FigureDescriber(), figure.content);
}

}  // namespace ghost
