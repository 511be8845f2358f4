// Curves as an SVG picture.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/ticks.h"

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
  Scale x_scale = Scale::kLinear;   // kLog leaves out what is not positive
  Scale y_scale = Scale::kLinear;
  std::vector<std::string> x_names;  // if any: x is a place in this list
};

// The same chart gives the same bytes everywhere. Texts are escaped.
std::string RenderSvg(const LineChart& chart);

}  // namespace ghost
