#include "report/ticks.h"

#include <gtest/gtest.h>

#include <limits>

namespace ghost {
namespace {

std::string Labels(const Ticks& ticks) {
  std::string all;
  for (const double value : ticks.values) all += (all.empty() ? "" : " ") + ticks.Label(value);
  return all;
}

TEST(Ticks, AreRoundAndEncloseTheValues) {
  EXPECT_EQ(Labels(MakeTicks(0, 6000, 6)), "0 1000 2000 3000 4000 5000 6000");
  EXPECT_EQ(Labels(MakeTicks(3.71, 8.3, 5)), "3 4 5 6 7 8 9");
  EXPECT_EQ(Labels(MakeTicks(0.012, 0.04, 4)), "0.01 0.02 0.03 0.04");
  EXPECT_EQ(Labels(MakeTicks(-0.3, 0.3, 3)), "-0.4 -0.2 0.0 0.2 0.4");
}

TEST(Ticks, AnythingGivesAnAxis) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Labels(MakeTicks(5, 5, 2)), "5.0 5.5 6.0");
  EXPECT_EQ(Labels(MakeTicks(nan, inf, 2)), "0.0 0.5 1.0");
  EXPECT_GE(MakeTicks(1e-12, 3e-12, 4).values.size(), 3u);
  EXPECT_GE(MakeTicks(0, 1e300, 4).values.size(), 3u);
  EXPECT_LE(MakeTicks(1e300, 1e300, 4).values.size(), 8u);
  EXPECT_LE(MakeTicks(-1e308, 1e308, 4).values.size(), 8u);
  EXPECT_LE(MakeTicks(1e17, 1e17 + 16, 4).values.size(), 8u);
}

TEST(Ticks, LogarithmicOnesAreRoundToo) {
  EXPECT_EQ(Labels(MakeLogTicks(64.3, 1846, 5)), "50 100 200 500 1e+03 2e+03");
  EXPECT_EQ(Labels(MakeLogTicks(0.5, 30000, 4)), "0.1 1 10 100 1e+03 1e+04 1e+05");
  EXPECT_EQ(Labels(MakeLogTicks(100, 100, 4)), "100 200");
  EXPECT_NEAR(MakeLogTicks(1, 100, 4).Fraction(10), 0.5, 1e-12);
}

TEST(Ticks, AnythingGivesALogarithmicAxis) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Labels(MakeLogTicks(nan, inf, 4)), "1 2 5 10");
  EXPECT_EQ(Labels(MakeLogTicks(-1, 5, 4)), "1 2 5 10");
  EXPECT_GE(MakeLogTicks(1e-300, 1e300, 4).values.size(), 3u);
}

}  // namespace
}  // namespace ghost
