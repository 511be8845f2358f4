#include "report/scatter_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ScatterChart, PointsStandWhereTheAxesSay) {
  const std::string svg = RenderSvg(ScatterChart{.points = {{0, 0}, {10, 5}, {5, 2.5}}});
  EXPECT_THAT(svg, HasSubstr("d=\"M64.0 308.0h0M624.0 40.0h0M344.0 174.0h0\""));
}

TEST(ScatterChart, OutliersStandOnTheEdge) {
  ScatterChart chart;
  for (int i = 0; i <= 400; ++i) chart.points.emplace_back(i % 11, i % 11);
  chart.points.emplace_back(1e6, 5);
  const std::string svg = RenderSvg(chart);
  EXPECT_THAT(svg, HasSubstr("M624.0 174.0h0\""));
}

TEST(ScatterChart, AnythingGivesAPicture) {
  const std::string svg = RenderSvg(ScatterChart{.points = {{NAN, 1}, {1, INFINITY}}, .cross = true});
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace ghost
