#include "eval/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ghost {
namespace {

TEST(Statistics, MeanAndItsStandardError) {
  const Estimate e = Mean(std::vector<double>{1, 0, 1, 1});
  EXPECT_DOUBLE_EQ(e.value, 0.75);
  EXPECT_DOUBLE_EQ(*e.standard_error, 0.5 / 2);  // variance (3/16 + 9/16) / 3 = 1/4, over sqrt(4)
  EXPECT_FALSE(Mean(std::vector<double>{1}).standard_error);
  EXPECT_EQ(Mean({}).value, 0.0);
}

TEST(Statistics, PerplexityByTheDeltaMethod) {
  const Estimate e = PerplexityOf(std::vector<double>{-1, -3});
  EXPECT_DOUBLE_EQ(e.value, std::exp(2.0));
  EXPECT_DOUBLE_EQ(*e.standard_error, std::exp(2.0) * 1.0);  // s = sqrt(2), over sqrt(2)
}

TEST(Statistics, PassAtK) {
  EXPECT_EQ(PassAtK(1, 1, 1), 1.0);
  EXPECT_EQ(PassAtK(1, 0, 1), 0.0);
  EXPECT_NEAR(PassAtK(10, 3, 1), 0.3, 1e-15);
  EXPECT_NEAR(PassAtK(5, 2, 2), 1.0 - 3.0 / 10.0, 1e-15);  // C(3,2) / C(5,2)
  EXPECT_EQ(PassAtK(5, 4, 2), 1.0);
}

}  // namespace
}  // namespace ghost
