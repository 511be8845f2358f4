#include "kernels/matmul/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace ghost {
namespace {

// A^T A / T + 0.1 I of a random A: (T, M).
std::vector<double> RandomMoments(int64_t T, int64_t M, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> a(static_cast<size_t>(T * M)), h(static_cast<size_t>(M * M), 0.0);
  for (double& v : a) v = rng.Normal();
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t i = 0; i < M; ++i) {
      for (int64_t j = 0; j < M; ++j)
        h[static_cast<size_t>(i * M + j)] +=
            a[static_cast<size_t>(t * M + i)] * a[static_cast<size_t>(t * M + j)] / static_cast<double>(T);
    }
  }
  for (int64_t i = 0; i < M; ++i) h[static_cast<size_t>(i * M + i)] += 0.1;
  return h;
}

TEST(FactorInverse, GivesTheFactorOfTheInverse) {
  for (const int64_t M : {1, 2, 3, 17, 130}) {
    const std::vector<double> h = RandomMoments(2 * M + 3, M, 7);
    std::vector<double> u = h;
    ASSERT_TRUE(FactorInverse(u, M));
    const auto at = [&](const std::vector<double>& m, int64_t i, int64_t j) {
      return m[static_cast<size_t>(i * M + j)];
    };
    // (U^T U) h = I.
    for (int64_t i = 0; i < M; ++i) {
      for (int64_t j = 0; j < M; ++j) {
        double product = 0.0;
        for (int64_t k = 0; k < M; ++k) {
          double inverse = 0.0;
          for (int64_t l = 0; l <= std::min(i, k); ++l) inverse += at(u, l, i) * at(u, l, k);
          product += inverse * at(h, k, j);
        }
        EXPECT_NEAR(product, i == j ? 1.0 : 0.0, 1e-9) << M;
        if (i > j) {
          EXPECT_EQ(at(u, i, j), 0.0);
        }
      }
      EXPECT_GT(at(u, i, i), 0.0);
    }
  }
}

TEST(FactorInverse, RefusesWhatIsNotPositiveDefinite) {
  std::vector<double> indefinite = {1, 2, 2, 1};
  EXPECT_FALSE(FactorInverse(indefinite, 2));
  std::vector<double> zero = {0.0};
  EXPECT_FALSE(FactorInverse(zero, 1));
  std::vector<double> nan = {1, 0, 0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(FactorInverse(nan, 2));
}

}  // namespace
}  // namespace ghost
