// Curves as an SVG picture that stands by itself: no script, no font, no link.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ghost {

struct ChartSeries {
  std::string label;
  std::vector<std::pair<double, double>> points;  // x ascending; those that are no numbers are left out
  bool dots = false;                              // mark every point
};

struct LineChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<ChartSeries> series;  // at most eight can be told apart
};

// The same chart gives the same bytes everywhere. Texts are escaped.
std::string RenderSvg(const LineChart& chart);

}  // namespace ghost
