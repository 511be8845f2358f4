#include "analysis/elbow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ghost {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Elbow, LayersCountAlikeHoweverLargeTheirScores) {
  const Elbow elbow = FindElbow({{4, 1, 2}, {400, 0, 100}});
  EXPECT_THAT(elbow.curve, ElementsAre(DoubleEq(0.125), DoubleEq(0.375), DoubleEq(1.0)));
  EXPECT_EQ(elbow.rank, 1);
}

TEST(Elbow, IsWhereTheCurveBends) {
  std::vector<double> scores;
  for (int r = 0; r < 128; ++r) scores.push_back(r < 110 ? 0.01 * r : 1.1 + 0.5 * (r - 110));
  EXPECT_EQ(FindElbow({scores}).rank, 110);
}

TEST(Elbow, ShorterLayersAreStretched) {
  EXPECT_THAT(FindElbow({{1, 2}, {2, 2, 2, 2}}).curve,
              ElementsAre(DoubleEq(0.75), DoubleEq(0.75), DoubleEq(1.0), DoubleEq(1.0)));
}

TEST(Elbow, LayersWithoutScoresDoNotCount) {
  EXPECT_TRUE(FindElbow({}).curve.empty());
  EXPECT_TRUE(FindElbow({{}, {0, 0}, {1, NAN}}).curve.empty());
  EXPECT_EQ(FindElbow({{5}}).rank, 0);
}

}  // namespace
}  // namespace ghost
