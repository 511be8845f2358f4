#include "report/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LineChart, PointsStandWhereTheAxesSay) {
  // The axes run from 0 to 10 and from 0 to 5; the plot is 560 x 268 with its corner at (64, 308).
  const std::string svg = RenderSvg({.series = {{"loss", {{0, 5}, {5, 2.5}, {10, 0}}, true}}});
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,40.0 344.0,174.0 624.0,308.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"344.0\" cy=\"174.0\""));
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

TEST(LineChart, AnEmptyChartIsStillAPicture) { EXPECT_THAT(RenderSvg({}), HasSubstr("</svg>")); }

}  // namespace
}  // namespace ghost
