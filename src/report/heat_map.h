// A matrix as an SVG picture: the higher a value, the darker its cell.
#pragma once

#include <string>
#include <vector>

namespace ghost {

struct HeatMap {
  std::string title;
  std::string x_label, y_label;
  std::vector<std::vector<double>> values;  // rows from the top, 0 to 1; what is no number stays white
  std::vector<std::vector<bool>> marked;    // cells in colour; the others are grey. Empty: all in colour
  std::string note;                         // what colour and grey mean
};

// The same map gives the same bytes everywhere. Rows may be of unequal length.
std::string RenderSvg(const HeatMap& map);

}  // namespace ghost
