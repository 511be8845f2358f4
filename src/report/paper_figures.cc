#include "report/paper_figures.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "report/bar_chart.h"
#include "report/line_chart.h"
#include "report/method_diagram.h"
#include "report/numbers.h"
#include "report/result_files.h"
#include "report/scatter_chart.h"
#include "report/score_pictures.h"

namespace ghost {
namespace {

double NumberOrNone(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string DrawProxyFailure(const Json& d) {
  ScatterChart chart = {.title = "Static magnitude against dynamic energy",
                        .x_label = "static score, standardised per layer",
                        .y_label = "GHOST score, standardised",
                        .cross = true};
  for (const Json& point : ListOf(d.at("points"))) {
    chart.points.emplace_back(point.at(0).get<double>(), point.at(1).get<double>());
  }
  return RenderSvg(chart);
}

std::string DrawMethodFigure(const Json& d) {
  const auto size = [&](const char* key) { return d.at(key).get<int64_t>(); };
  return DrawMethod({size("d_model"), size("heads"), size("head_dim"), size("groups"), size("state")});
}

// Time on the left, memory on the right, each over what the forward pass needs.
std::string DrawCost(const Json& d) {
  BarChart chart = {
      .title = "Cost of pruning", .y_label = "in forward passes", .series = {{"time"}, {"memory"}}};
  const Json::array_t& rows = ListOf(d.at("methods"));
  const double forward_bytes = rows.empty() ? 1.0 : rows.front().at("memory_bytes").get<double>();
  for (const Json& row : rows) {
    chart.groups.push_back(row.at("method").get<std::string>());
    chart.series[0].values.push_back(row.at("forward_passes").get<double>());
    chart.series[1].values.push_back(row.at("memory_bytes").get<double>() / forward_bytes);
  }
  return RenderSvg(chart);
}

std::string DrawLengths(const Json& d) {
  LineChart chart = {.title = "Calibrated and evaluated on the same length",
                     .x_label = "tokens",
                     .y_label = "word perplexity",
                     .x_scale = Scale::kLog,
                     .y_scale = Scale::kLog};
  const Json::array_t& columns = ListOf(d.at("columns"));
  for (const Json& row : ListOf(d.at("rows"))) {
    ChartSeries series = {.label = row.at("label").get<std::string>(), .dots = true};
    for (size_t c = 0; c < columns.size(); ++c) {
      series.points.emplace_back(std::strtod(columns[c].get_ref<const std::string&>().c_str(), nullptr),
                                 NumberOrNone(row.at("values").at(c)));
    }
    chart.series.push_back(std::move(series));
  }
  return RenderSvg(chart);
}

std::string DrawZeroShot(const Json& d) {
  BarChart chart = {.title = "Zero-shot accuracy", .y_label = "right answers, %"};
  chart.groups = d.at("columns").get<std::vector<std::string>>();
  for (const Json& row : ListOf(d.at("rows"))) {
    BarSeries series = {.label = row.at("label").get<std::string>()};
    if (series.label.find(',') != std::string::npos) continue;  // other calibration: in the table only
    for (const Json& value : ListOf(row.at("values"))) series.values.push_back(NumberOrNone(value));
    chart.series.push_back(std::move(series));
  }
  return RenderSvg(chart);
}

std::string DrawElbowFigure(const Json& d) {
  return DrawSortedScores({d.at("curve").get<std::vector<double>>(), d.at("rank").get<int>()});
}

std::string DrawHeatMap(const Json& d) {
  return DrawScoreMap(d.at("layers").get<std::vector<std::vector<double>>>(), /*kept=*/{});
}

struct Figure {
  std::string_view id;
  std::string (*draw)(const Json&);
};
constexpr Figure kFigures[] = {{"F1", DrawProxyFailure}, {"F2", DrawMethodFigure}, {"F3", DrawCost},
                               {"F4", DrawLengths},      {"F5", DrawZeroShot},     {"F6", DrawElbowFigure},
                               {"F7", DrawHeatMap}};

std::string ProxyText(const Json& d, const char* key) {
  const Json& p = d.at(key);
  return fmt::format("correlation {:.2f}, phantom {:.1f} %, corporeal {:.1f} %",
                     p.at("pearson").get<double>(), 100 * p.at("phantom").get<double>(),
                     100 * p.at("corporeal").get<double>());
}

std::string CostText(const Json& rows) {
  std::string text;
  for (const Json& row : ListOf(rows)) {
    text += fmt::format(
        "{}{} {} passes, {:.2f} GB", text.empty() ? "" : "; ", row.at("method").get<std::string>(),
        ShortNumber(row.at("forward_passes").get<double>()), row.at("memory_bytes").get<double>() / 1e9);
  }
  return text;
}

}  // namespace

std::string DrawPaperFigure(const Json& document) {
  const std::string id = document.at("id").get<std::string>();
  for (const Figure& figure : kFigures) {
    if (figure.id == id) return figure.draw(document);
  }
  throw Error(ErrorKind::kCorrupt, "no such figure", {.expected = "F1 to F7", .actual = id});
}

std::string DescribePaperFigure(const Json& d) {
  const std::string id = d.at("id").get<std::string>();
  if (id == "F1") {
    return "Standardised by median and quartiles: " + ProxyText(d, "by_median") +
           "; by mean and deviation: " + ProxyText(d, "by_mean") +
           ". The paper, on Mamba2-1.3B: " + ProxyText(d, "paper") + ".";
  }
  if (id == "F3") {
    return "Measured here: " + CostText(d.at("methods")) +
           ". The paper, on Mamba2-1.3B: " + CostText(d.at("paper")) + ".";
  }
  if (id == "F6") {
    return fmt::format("The curve bends at rank {} of {}; the paper's, of Mamba2-1.3B, at about {} of {}.",
                       d.at("rank").get<int>(), ListOf(d.at("curve")).size(),
                       d.at("paper").at("rank").get<int>(), d.at("paper").at("of").get<int>());
  }
  return "";
}

}  // namespace ghost
