#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "report/ticks.h"

namespace ghost {
namespace {

constexpr double kWidth = 640, kHeight = 360;
constexpr double kLeft = 64, kRight = 16, kTop = 40, kBottom = 52;  // margins around the plot

// Okabe and Ito's colours, which colour-blind readers can tell apart.
constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#e69f00", "#56b4e9", "#000000", "#999999"};

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// From values to places in the picture.
struct Plot {
  Ticks x, y;
  double X(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double Y(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

bool IsPoint(const std::pair<double, double>& p) { return std::isfinite(p.first) && std::isfinite(p.second); }

Plot PlotOf(const LineChart& chart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double x_low = kInfinity, x_high = -kInfinity, y_low = kInfinity, y_high = -kInfinity;
  for (const ChartSeries& series : chart.series) {
    for (const auto& point : series.points) {
      if (!IsPoint(point)) continue;
      x_low = std::min(x_low, point.first), x_high = std::max(x_high, point.first);
      y_low = std::min(y_low, point.second), y_high = std::max(y_high, point.second);
    }
  }
  return {MakeTicks(x_low, x_high, 6), MakeTicks(y_low, y_high, 5)};
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text,
                 std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     Escape(text));
}

std::string Line(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1, x2, y2);
}

std::string Axes(const LineChart& chart, const Plot& plot) {
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  std::string lines = "<g stroke=\"#dddddd\">\n", labels;
  for (const double value : plot.x.values) {
    lines += Line(plot.X(value), kTop, plot.X(value), bottom);
    labels += Text(plot.X(value), bottom + 16, "middle", plot.x.Label(value));
  }
  for (const double value : plot.y.values) {
    lines += Line(kLeft, plot.Y(value), right, plot.Y(value));
    labels += Text(kLeft - 8, plot.Y(value) + 4, "end", plot.y.Label(value));
  }
  const double middle = (kTop + bottom) / 2;
  return lines + "</g>\n" + labels + Text((kLeft + right) / 2, kHeight - 12, "middle", chart.x_label) +
         Text(16, middle, "middle", chart.y_label,
              fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle)) +
         Text(kLeft, 22, "start", chart.title, " font-size=\"15\" font-weight=\"bold\"");
}

std::string Curve(const ChartSeries& series, const Plot& plot, std::string_view colour) {
  std::string path, dots;
  for (const auto& point : series.points) {
    if (!IsPoint(point)) continue;
    const double x = plot.X(point.first), y = plot.Y(point.second);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
    if (series.dots) dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", x, y);
  }
  return fmt::format(
      "<g fill=\"{0}\">\n<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"1.8\" points=\"{1}\"/>\n{2}"
      "</g>\n",
      colour, path, dots);
}

// In the upper right corner, a line per curve.
std::string Legend(const LineChart& chart) {
  std::string out;
  double y = kTop + 16;
  for (size_t i = 0; i < chart.series.size(); ++i, y += 16) {
    out += Text(kWidth - kRight - 8, y, "end", chart.series[i].label,
                fmt::format(" fill=\"{}\"", kColours[i % kColours.size()]));
  }
  return out;
}

}  // namespace

std::string RenderSvg(const LineChart& chart) {
  const Plot plot = PlotOf(chart);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333333\" role=\"img\">\n<title>{2}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight, Escape(chart.title));
  svg += Axes(chart, plot);
  for (size_t i = 0; i < chart.series.size(); ++i) {
    svg += Curve(chart.series[i], plot, kColours[i % kColours.size()]);
  }
  return svg + Legend(chart) + "</svg>\n";
}

}  // namespace ghost
