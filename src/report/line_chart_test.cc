#include "report/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LineChart, PointsStandWhereTheAxesSay) {
  // The axes run from 0 to 10 and from 0 to 5; the plot is 532 x 268 with its corner at (64, 308), beside the
  // name.
  const std::string svg = RenderSvg({.series = {{"loss", {{0, 5}, {5, 2.5}, {10, 0}}, true}}});
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,40.0 330.0,174.0 596.0,308.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"330.0\" cy=\"174.0\""));
  EXPECT_THAT(svg, HasSubstr(">loss</text>"));
}

TEST(LineChart, TextsAreEscaped) {
  const std::string svg = RenderSvg({.title = "a < b & \"c\"", .series = {{"<script>", {{0, 0}}}}});
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(LineChart, WhatIsNoNumberIsLeftOut) {
  const std::string svg =
      RenderSvg({.series = {{"x", {{0, 1}, {1, std::nan("")}, {2, INFINITY}, {3, 2}}}, {"empty", {}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(LineChart, LogarithmicAxesAreStraightForPowers) {
  const std::string svg = RenderSvg({.series = {{"x", {{1, 1}, {10, 10}, {100, 100}, {0, 5}, {5, -1}}}},
                                     .x_scale = Scale::kLog,
                                     .y_scale = Scale::kLog});
  EXPECT_THAT(
      svg, HasSubstr("points=\"64.0,308.0 340.5,174.0 617.0,40.0\""));  // what is not positive is not there
}

TEST(LineChart, NamedPlacesStandSideBySide) {
  const std::string svg = RenderSvg({.series = {{"x", {{0, 0}, {1, 1}}}}, .x_names = {"near", "far"}});
  EXPECT_THAT(svg, HasSubstr("points=\"202.2,308.0 478.8,40.0\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"478.8\" y=\"324.0\" text-anchor=\"middle\">far</text>"));
}

TEST(LineChart, AnEmptyChartIsStillAPicture) { EXPECT_THAT(RenderSvg({}), HasSubstr("</svg>")); }

}  // namespace
}  // namespace ghost
