#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/markup.h"

namespace ghost {

// Okabe and Ito's palette.
std::string_view SeriesColour(size_t i) {
  static constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                               "#e69f00", "#56b4e9", "#000000", "#999999"};
  return kColours[i % kColours.size()];
}

std::string SvgText(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     EscapeMarkup(text));
}

std::string SvgLine(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1, x2, y2);
}

std::string SvgPicture(std::string_view title, std::string_view content, double height) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
             "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333333\" "
             "role=\"img\">\n<title>{2}</title>\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
             kPictureWidth, height, EscapeMarkup(title)) +
         SvgText(PlotArea{}.left, 22, "start", title, " font-size=\"15\" font-weight=\"bold\"") +
         std::string(content) + "</svg>\n";
}

std::string SvgAxisNames(const PlotArea& area, std::string_view x_label, std::string_view y_label) {
  const double middle = (area.top + area.bottom) / 2;
  return SvgText((area.left + area.right) / 2, area.bottom + 40, "middle", x_label) +
         SvgText(16, middle, "middle", y_label, fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle));
}

std::string SvgXTicks(const PlotArea& area, const Ticks& ticks, const std::vector<std::string>& names) {
  std::string lines = "<g stroke=\"#dddddd\">\n", labels;
  for (size_t i = 0; i < ticks.values.size(); ++i) {
    const double x = area.left + ticks.Fraction(ticks.values[i]) * (area.right - area.left);
    lines += SvgLine(x, area.top, x, area.bottom);
    labels += SvgText(x, area.bottom + 16, "middle", names.empty() ? ticks.Label(ticks.values[i]) : names[i]);
  }
  return lines + "</g>\n" + labels;
}

std::string SvgYTicks(const PlotArea& area, const Ticks& ticks) {
  std::string lines = "<g stroke=\"#dddddd\">\n", labels;
  for (const double value : ticks.values) {
    const double y = area.bottom - ticks.Fraction(value) * (area.bottom - area.top);
    lines += SvgLine(area.left, y, area.right, y);
    labels += SvgText(area.left - 8, y + 4, "end", ticks.Label(value));
  }
  return lines + "</g>\n" + labels;
}

PlotArea AreaBesideLegend(const std::vector<std::string>& labels) {
  size_t longest = 0;
  for (const std::string& label : labels) longest = std::max(longest, label.size());
  PlotArea area;
  if (longest > 0)
    area.right -= std::min(7.0 * static_cast<double>(longest), 220.0);  // letters are about 7 wide
  return area;
}

std::string SvgLegend(const PlotArea& area, const std::vector<std::string>& labels) {
  std::string out;
  for (size_t i = 0; i < labels.size(); ++i) {
    out += SvgText(area.right + 6, area.top + 12 + 18 * static_cast<double>(i), "start", labels[i],
                   fmt::format(" fill=\"{}\"", SeriesColour(i)));
  }
  return out;
}

}  // namespace ghost
