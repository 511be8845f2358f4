#include "report/scatter_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg.h"

namespace ghost {
namespace {

constexpr PlotArea kArea;

Ticks AxisOf(std::vector<double> values, int count) {
  if (values.empty()) return MakeTicks(0, 1, count);
  std::sort(values.begin(), values.end());
  const size_t outer = values.size() / 200;
  return MakeTicks(values[outer], values[values.size() - 1 - outer], count);
}

double PlaceOf(const Ticks& ticks, double value) { return std::clamp(ticks.Fraction(value), 0.0, 1.0); }

}  // namespace

std::string RenderSvg(const ScatterChart& chart) {
  std::vector<std::pair<double, double>> points;
  std::vector<double> xs, ys;
  for (const auto& [x, y] : chart.points) {
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    points.emplace_back(x, y);
    xs.push_back(x);
    ys.push_back(y);
  }
  const Ticks x_axis = AxisOf(xs, 6), y_axis = AxisOf(ys, 5);
  const auto X = [&](double v) { return kArea.left + PlaceOf(x_axis, v) * (kArea.right - kArea.left); };
  const auto Y = [&](double v) { return kArea.bottom - PlaceOf(y_axis, v) * (kArea.bottom - kArea.top); };
  // A line of no length with round ends is a dot; all of them are one path.
  std::string dots;
  for (const auto& [x, y] : points) dots += fmt::format("M{:.1f} {:.1f}h0", X(x), Y(y));
  std::string content =
      SvgXTicks(kArea, x_axis) + SvgYTicks(kArea, y_axis) + SvgAxisNames(kArea, chart.x_label, chart.y_label);
  if (chart.cross) {
    content += "<g stroke=\"#666666\" stroke-dasharray=\"4 3\">\n" +
               SvgLine(X(0), kArea.top, X(0), kArea.bottom) + SvgLine(kArea.left, Y(0), kArea.right, Y(0)) +
               "</g>\n";
  }
  content += fmt::format(
      "<path d=\"{}\" stroke=\"{}\" stroke-width=\"3\" stroke-linecap=\"round\" stroke-opacity=\"0.35\" "
      "fill=\"none\"/>\n",
      dots, SeriesColour(0));
  return SvgPicture(chart.title, content);
}

}  // namespace ghost
