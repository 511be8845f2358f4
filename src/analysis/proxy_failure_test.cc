#include "analysis/proxy_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ghost {
namespace {

using testing::ElementsAre;

TEST(Standardise, CentresOnTheMedianAndScalesByTheQuartiles) {
  // Median 3, quartiles 2 and 4, as numpy.percentile gives them; the outlier moves neither.
  EXPECT_THAT(Standardise({1, 2, 3, 4, 1000}, Standard::kMedian), ElementsAre(-1, -0.5, 0, 0.5, 498.5));
}

TEST(Standardise, CentresOnTheMeanAndScalesByTheDeviation) {
  EXPECT_THAT(Standardise({1, 3}, Standard::kMean), ElementsAre(-1, 1));
  EXPECT_THAT(Standardise({5, 5, 5}, Standard::kMean), ElementsAre(0, 0, 0));
  EXPECT_TRUE(Standardise({}, Standard::kMedian).empty());
}

TEST(ProxyFailure, CountsTheCornersThatDisagree) {
  const ProxyFailure same = CompareProxies({{1, 2, 3, 4}}, {{10, 20, 30, 40}}, Standard::kMedian);
  EXPECT_DOUBLE_EQ(same.pearson, 1.0);
  EXPECT_EQ(same.phantom + same.corporeal, 0.0);
  const ProxyFailure opposite = CompareProxies({{1, 2, 3, 4}}, {{4, 3, 2, 1}}, Standard::kMedian);
  EXPECT_DOUBLE_EQ(opposite.pearson, -1.0);
  EXPECT_DOUBLE_EQ(opposite.phantom, 0.5);
  EXPECT_DOUBLE_EQ(opposite.corporeal, 0.5);
}

TEST(ProxyFailure, LayersOfAnotherScaleCountAlike) {
  const ProxyFailure result =
      CompareProxies({{1, 2, 3}, {100, 200, 300}}, {{1, 2, 3}, {7e6, 8e6, 9e6}}, Standard::kMean);
  EXPECT_NEAR(result.pearson, 1.0, 1e-12);
  EXPECT_EQ(CompareProxies({}, {}, Standard::kMean).points.size(), 0u);
}

}  // namespace
}  // namespace ghost
