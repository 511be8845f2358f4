// A cloud of points as an SVG picture.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ghost {

struct ScatterChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<std::pair<double, double>> points;  // those that are no numbers are left out
  bool cross = false;                             // lines at x = 0 and y = 0
};

// The same chart gives the same bytes everywhere. The axes end where all but the outermost 0.5 % on each side
// have their place; points beyond are drawn on the edge.
std::string RenderSvg(const ScatterChart& chart);

}  // namespace ghost
