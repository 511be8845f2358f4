#include "report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/svg.h"

namespace ghost {
namespace {

constexpr int kLevels = 24;  // shades: more cannot be told apart
constexpr double kRowHeight = 8;

struct Colour {
  double red, green, blue;
};
constexpr Colour kLight{235, 243, 251}, kDark{0, 60, 120};          // marked
constexpr Colour kLightGrey{246, 246, 246}, kDarkGrey{90, 90, 90};  // not marked

std::string ShadeOf(int level, bool marked) {
  const double part = static_cast<double>(level) / (kLevels - 1);
  const Colour& from = marked ? kLight : kLightGrey;
  const Colour& to = marked ? kDark : kDarkGrey;
  const auto mix = [&](double a, double b) { return static_cast<int>(std::lround(a + (b - a) * part)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(from.red, to.red), mix(from.green, to.green),
                     mix(from.blue, to.blue));
}

size_t LongestRow(const HeatMap& map) {
  size_t longest = 1;
  for (const auto& row : map.values) longest = std::max(longest, row.size());
  return longest;
}

// Cells of a shade are one path, in units of cells, so that a map of 64 x 256 stays below 300 kB.
std::string Cells(const HeatMap& map) {
  std::array<std::array<std::string, kLevels>, 2> paths;
  for (size_t y = 0; y < map.values.size(); ++y) {
    for (size_t x = 0; x < map.values[y].size(); ++x) {
      const double value = map.values[y][x];
      if (!std::isfinite(value)) continue;
      const auto level = static_cast<size_t>(std::lround(std::clamp(value, 0.0, 1.0) * (kLevels - 1)));
      const bool marked = map.marked.empty() || map.marked.at(y).at(x);
      paths[marked ? 1 : 0][level] += fmt::format("M{} {}h1v1h-1z", x, y);
    }
  }
  std::string out;
  for (const bool marked : {false, true}) {
    for (int level = 0; level < kLevels; ++level) {
      const std::string& path = paths[marked ? 1 : 0][static_cast<size_t>(level)];
      if (!path.empty()) out += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", ShadeOf(level, marked), path);
    }
  }
  return out;
}

}  // namespace

std::string RenderSvg(const HeatMap& map) {
  PlotArea area;
  const double height = kRowHeight * static_cast<double>(std::max<size_t>(map.values.size(), 1));
  area.bottom = area.top + height;
  const double columns = static_cast<double>(LongestRow(map));
  std::string content =
      fmt::format("<g transform=\"translate({} {}) scale({} {})\" shape-rendering=\"crispEdges\">\n{}</g>\n",
                  area.left, area.top, (area.right - area.left) / columns, kRowHeight, Cells(map));
  // Whole cells are counted: the axis ends where they end.
  for (const double value : MakeTicks(0, columns, 8).values) {
    if (value > columns) break;
    content += SvgText(area.left + value / columns * (area.right - area.left), area.bottom + 16, "middle",
                       fmt::format("{:.0f}", value));
  }
  for (const double value : MakeTicks(0, static_cast<double>(map.values.size()), 4).values) {
    if (value >= static_cast<double>(map.values.size()) || value != std::floor(value)) continue;
    content += SvgText(area.left - 8, area.top + (value + 0.5) * kRowHeight + 4, "end",
                       fmt::format("{:.0f}", value));
  }
  content += SvgAxisNames(area, map.x_label, map.y_label);
  content += SvgText(area.left, area.bottom + 58, "start", map.note, " font-size=\"11\"");
  return SvgPicture(map.title, content, area.bottom + 68);
}

}  // namespace ghost
