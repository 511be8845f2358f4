#include "report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg.h"

namespace ghost {
namespace {

bool HasBar(double value) { return std::isfinite(value) && value > 0; }

Ticks YAxis(const BarChart& chart) {
  double high = 0;
  for (const BarSeries& series : chart.series) {
    for (const double value : series.values) high = HasBar(value) ? std::max(high, value) : high;
  }
  return MakeTicks(0, high, 5);
}

// Every so manyth group has its name under it, so that names do not overlap.
size_t NameEvery(const std::vector<std::string>& groups, double group_width) {
  size_t longest = 0;
  for (const std::string& group : groups) longest = std::max(longest, group.size());
  const double name_width = 7.0 * static_cast<double>(longest) + 4.0;  // letters are about 7 wide
  return static_cast<size_t>(std::max(1.0, std::ceil(name_width / group_width)));
}

}  // namespace

std::string RenderSvg(const BarChart& chart) {
  std::vector<std::string> labels;
  for (const BarSeries& series : chart.series) labels.push_back(series.label);
  const PlotArea area = AreaBesideLegend(labels);
  const Ticks y = YAxis(chart);
  std::string content = SvgYTicks(area, y) + SvgAxisNames(area, chart.x_label, chart.y_label);
  const double group_width =
      (area.right - area.left) / static_cast<double>(std::max<size_t>(chart.groups.size(), 1));
  const double bar_width = 0.8 * group_width / static_cast<double>(std::max<size_t>(chart.series.size(), 1));
  const size_t name_every = NameEvery(chart.groups, group_width);
  for (size_t g = 0; g < chart.groups.size(); ++g) {
    const double left = area.left + group_width * static_cast<double>(g);
    if (g % name_every == 0)
      content += SvgText(left + group_width / 2, area.bottom + 16, "middle", chart.groups[g]);
    for (size_t s = 0; s < chart.series.size(); ++s) {
      if (g >= chart.series[s].values.size() || !HasBar(chart.series[s].values[g])) continue;
      const double height = y.Fraction(chart.series[s].values[g]) * (area.bottom - area.top);
      content +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                      left + 0.1 * group_width + bar_width * static_cast<double>(s), area.bottom - height,
                      bar_width, height, SeriesColour(s));
    }
  }
  return SvgPicture(chart.title, content + SvgLegend(area, labels));
}

}  // namespace ghost
