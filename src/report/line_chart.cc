#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "report/svg.h"

namespace ghost {
namespace {

bool IsValue(double value, Scale scale) {
  return std::isfinite(value) && (scale == Scale::kLinear || value > 0);
}

// From values to places in the picture.
struct Plot {
  PlotArea area;
  Ticks x, y;
  double X(double value) const { return area.left + x.Fraction(value) * (area.right - area.left); }
  double Y(double value) const { return area.bottom - y.Fraction(value) * (area.bottom - area.top); }
  bool Has(const std::pair<double, double>& p) const {
    return IsValue(p.first, x.scale) && IsValue(p.second, y.scale);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void Add(double value, Scale scale) {
    if (!IsValue(value, scale)) return;
    low = std::min(low, value), high = std::max(high, value);
  }
  Ticks MakeAxis(Scale scale, int count) const {
    return scale == Scale::kLog ? MakeLogTicks(low, high, count) : MakeTicks(low, high, count);
  }
};

Ticks NamedTicks(size_t names) {
  Ticks ticks;
  ticks.low = -0.5;
  ticks.high = static_cast<double>(names) - 0.5;
  for (size_t i = 0; i < names; ++i) ticks.values.push_back(static_cast<double>(i));
  return ticks;
}

std::vector<std::string> LabelsOf(const LineChart& chart) {
  std::vector<std::string> labels;
  for (const ChartSeries& series : chart.series) labels.push_back(series.label);
  return labels;
}

Plot PlotOf(const LineChart& chart) {
  Range x, y;
  for (const ChartSeries& series : chart.series) {
    for (const auto& [first, second] : series.points) {
      x.Add(first, chart.x_scale);
      y.Add(second, chart.y_scale);
    }
  }
  return {AreaBesideLegend(LabelsOf(chart)),
          chart.x_names.empty() ? x.MakeAxis(chart.x_scale, 6) : NamedTicks(chart.x_names.size()),
          y.MakeAxis(chart.y_scale, 5)};
}

std::string Curve(const ChartSeries& series, const Plot& plot, std::string_view colour) {
  std::string path, dots;
  for (const auto& point : series.points) {
    if (!plot.Has(point)) continue;
    const double x = plot.X(point.first), y = plot.Y(point.second);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
    if (series.dots) dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", x, y);
  }
  return fmt::format(
      "<g fill=\"{0}\">\n<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"1.8\" points=\"{1}\"/>\n{2}"
      "</g>\n",
      colour, path, dots);
}

}  // namespace

std::string RenderSvg(const LineChart& chart) {
  const Plot plot = PlotOf(chart);
  std::string content = SvgXTicks(plot.area, plot.x, chart.x_names) + SvgYTicks(plot.area, plot.y) +
                        SvgAxisNames(plot.area, chart.x_label, chart.y_label);
  for (size_t i = 0; i < chart.series.size(); ++i) {
    content += Curve(chart.series[i], plot, SeriesColour(i));
  }
  return SvgPicture(chart.title, content + SvgLegend(plot.area, LabelsOf(chart)));
}

}  // namespace ghost
