// What all our pictures have in common: size, colours, frame, texts. Pictures are self-contained: no script,
// no font, no link.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/ticks.h"

namespace ghost {

inline constexpr double kPictureWidth = 640, kPictureHeight = 360;

// The place of the values inside a picture; title, labels and numbers are around it.
struct PlotArea {
  double left = 64, right = kPictureWidth - 16, top = 40, bottom = kPictureHeight - 52;
};

// One of eight colours that colour-blind readers can tell apart; more begin again.
std::string_view SeriesColour(size_t i);

// `more` are further attributes, as they are.
std::string SvgText(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more = "");
std::string SvgLine(double x1, double y1, double x2, double y2);

// A whole picture of `height` around `content`, with its title.
std::string SvgPicture(std::string_view title, std::string_view content, double height = kPictureHeight);

// The names of both axes.
std::string SvgAxisNames(const PlotArea& area, std::string_view x_label, std::string_view y_label);

// Lines across the plot with their numbers; upright ones may have names instead, one per tick.
std::string SvgXTicks(const PlotArea& area, const Ticks& ticks, const std::vector<std::string>& names = {});
std::string SvgYTicks(const PlotArea& area, const Ticks& ticks);

// The place that is left when the names of series are to the right of it.
PlotArea AreaBesideLegend(const std::vector<std::string>& labels);
// The names, each in the colour of its series.
std::string SvgLegend(const PlotArea& area, const std::vector<std::string>& labels);

}  // namespace ghost
