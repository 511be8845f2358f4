// Groups of bars, one bar per series, as an SVG picture.
#pragma once

#include <string>
#include <vector>

namespace ghost {

struct BarSeries {
  std::string label;
  std::vector<double> values;  // one per group; what is negative or no number has no bar
};

struct BarChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<std::string> groups;  // where they are too many to have their names under them, some have none
  std::vector<BarSeries> series;    // at most eight can be told apart
};

// The same chart gives the same bytes everywhere. Texts are escaped.
std::string RenderSvg(const BarChart& chart);

}  // namespace ghost
