#include "report/bar_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(BarChart, HeightsFollowTheValues) {
  // 525 x 268 beside the names, for values from 0 to 10.
  const std::string svg =
      RenderSvg(BarChart{.groups = {"1", "32"}, .series = {{"dense", {5, 10}}, {"half", {10, 2.5}}}});
  EXPECT_THAT(svg, HasSubstr("y=\"174.0\" width=\"105.0\" height=\"134.0\" fill=\"#0072b2\""));
  EXPECT_THAT(svg, HasSubstr("y=\"40.0\" width=\"105.0\" height=\"268.0\" fill=\"#d55e00\""));
  EXPECT_THAT(svg, HasSubstr(">32</text>"));
}

TEST(BarChart, WhatIsNoNumberHasNoBar) {
  const std::string svg =
      RenderSvg(BarChart{.groups = {"a", "b"}, .series = {{"x", {NAN, -1}}, {"short", {}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("fill=\"#0072b2\"/>")));
}

TEST(BarChart, NamesOfManyGroupsDoNotOverlap) {
  BarChart chart{.series = {{"kept", {}}}};
  for (int layer = 0; layer < 64; ++layer) {
    chart.groups.push_back(std::to_string(layer));
    chart.series[0].values.push_back(1 + layer);
  }
  const std::string svg = RenderSvg(chart);
  EXPECT_THAT(svg, HasSubstr(" text-anchor=\"middle\">63</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(" text-anchor=\"middle\">62</text>")));
  size_t bars = 0;
  for (size_t at = svg.find("fill=\"#0072b2\"/>"); at != std::string::npos;
       at = svg.find("fill=\"#0072b2\"/>", at + 1))
    ++bars;
  EXPECT_EQ(bars, 64u);
}

TEST(BarChart, AnEmptyChartIsStillAPicture) { EXPECT_THAT(RenderSvg(BarChart{}), HasSubstr("</svg>")); }

}  // namespace
}  // namespace ghost
