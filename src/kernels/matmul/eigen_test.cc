#include "kernels/matmul/eigen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace ghost {
namespace {

std::vector<double> RandomMatrix(int64_t N, uint64_t seed) {
  std::vector<double> a(static_cast<size_t>(N * N));
  Rng rng(seed);
  for (double& v : a) v = rng.Normal();
  return a;
}

// sum_i values[i] left[i]^T right[i]: what the vectors stand for.
std::vector<double> Compose(const std::vector<double>& values, const std::vector<double>& left,
                            const std::vector<double>& right, int64_t N) {
  std::vector<double> sum(static_cast<size_t>(N * N));
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t r = 0; r < N; ++r) {
      for (int64_t c = 0; c < N; ++c)
        sum[static_cast<size_t>(r * N + c)] += values[static_cast<size_t>(i)] *
                                               left[static_cast<size_t>(i * N + r)] *
                                               right[static_cast<size_t>(i * N + c)];
    }
  }
  return sum;
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-10) << i;
}

class EigenTest : public testing::TestWithParam<int64_t> {};

TEST_P(EigenTest, VectorsAndValuesMakeTheMatrix) {
  const int64_t N = GetParam();
  const std::vector<double> random = RandomMatrix(N, 3);
  std::vector<double> a(random.size()), values(static_cast<size_t>(N));
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t k = 0; k < N; ++k)
      a[static_cast<size_t>(i * N + k)] =
          random[static_cast<size_t>(i * N + k)] + random[static_cast<size_t>(k * N + i)];
  }
  std::vector<double> vectors = a;
  ASSERT_TRUE(SymmetricEigen(vectors, values, N));
  ExpectNear(Compose(values, vectors, vectors, N), a);
  for (size_t i = 1; i < values.size(); ++i) EXPECT_LE(values[i - 1], values[i]);
}

TEST_P(EigenTest, SingularVectorsMakeTheMatrix) {
  const int64_t N = GetParam();
  const std::vector<double> a = RandomMatrix(N, 4);
  std::vector<double> copy = a, values(static_cast<size_t>(N)), left(a.size()), right(a.size());
  ASSERT_TRUE(SingularVectors(copy, values, left, right, N));
  ExpectNear(Compose(values, left, right, N), a);
  for (size_t i = 1; i < values.size(); ++i) EXPECT_GE(values[i - 1], values[i]);
}

INSTANTIATE_TEST_SUITE_P(Sizes, EigenTest, testing::Values(0, 1, 2, 7, 64));

TEST(Eigen, NotANumberIsRefused) {
  std::vector<double> a = {1.0, std::numeric_limits<double>::quiet_NaN(), 0.0, 1.0}, v(4), w(4), s(2);
  EXPECT_FALSE(SymmetricEigen(a, s, 2));
  EXPECT_FALSE(SingularVectors(a, s, v, w, 2));
}

}  // namespace
}  // namespace ghost
