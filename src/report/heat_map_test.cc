#include "report/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HeatMap, HighValuesAreDarkAndUnmarkedOnesGrey) {
  const std::string svg =
      RenderSvg(HeatMap{.values = {{0, 1}, {1, 0}}, .marked = {{true, true}, {false, false}}});
  EXPECT_THAT(svg, HasSubstr("<path fill=\"#003c78\" d=\"M1 0h1v1h-1z\"/>"));
  EXPECT_THAT(svg, HasSubstr("<path fill=\"#5a5a5a\" d=\"M0 1h1v1h-1z\"/>"));
}

TEST(HeatMap, CellsOfAShadeAreOnePath) {
  const std::string svg = RenderSvg(HeatMap{.values = {{1, 1, 1}}});
  EXPECT_THAT(svg, HasSubstr("d=\"M0 0h1v1h-1zM1 0h1v1h-1zM2 0h1v1h-1z\""));
}

TEST(HeatMap, AnythingGivesAPicture) {
  EXPECT_THAT(RenderSvg(HeatMap{}), HasSubstr("</svg>"));
  const std::string svg = RenderSvg(HeatMap{.title = "<b>", .values = {{NAN, INFINITY, -3, 7}, {}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
}

}  // namespace
}  // namespace ghost
