#include "kernels/rows/top_k.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<int32_t> Chosen(const std::vector<float>& values, int count) {
  std::vector<int32_t> chosen(static_cast<size_t>(count), -1);
  TopK(values, count, chosen);
  return chosen;
}

// A stable sort of all indices by falling value, NaN last.
std::vector<int32_t> ChosenRef(const std::vector<float>& values, int count) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t i, int32_t j) {
    const float a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return a > b;
  });
  order.resize(static_cast<size_t>(count));
  return order;
}

TEST(TopK, EverySizeAgainstSorting) {
  Rng rng(1);
  for (int size = 0; size <= 20; ++size) {
    for (int count = 0; count <= size; ++count) {
      const std::vector<float> values = RandomFloats(size, rng);
      EXPECT_EQ(Chosen(values, count), ChosenRef(values, count)) << count << " of " << size;
    }
  }
}

TEST(TopK, ManyExpertsAgainstSorting) {
  Rng rng(2);
  for (const int size : {64, 127, 512}) {
    std::vector<float> values = RandomFloats(size, rng);
    for (const int count : {1, 8, 22, 64}) {
      EXPECT_EQ(Chosen(values, count), ChosenRef(values, count)) << count << " of " << size;
    }
    // The most and the fewest insertions.
    std::sort(values.begin(), values.end());
    EXPECT_EQ(Chosen(values, size), ChosenRef(values, size));
    std::reverse(values.begin(), values.end());
    EXPECT_EQ(Chosen(values, size), ChosenRef(values, size));
  }
}

// Few different values, so that most of them are tied, among them both zeros, infinities and NaN.
TEST(TopK, TiesAndSpecialValuesAgainstSorting) {
  Rng rng(3);
  const float choices[] = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNaN, -kNaN};
  for (int repeat = 0; repeat < 300; ++repeat) {
    const int size = 1 + static_cast<int>(rng.Bits() % 40);
    std::vector<float> values;
    for (int i = 0; i < size; ++i) values.push_back(choices[rng.Bits() % std::size(choices)]);
    for (const int count : {1, size / 2, size}) {
      EXPECT_EQ(Chosen(values, count), ChosenRef(values, count)) << count << " of " << size;
    }
  }
}

TEST(TopK, TiesGoToTheLowerIndex) {
  EXPECT_EQ(Chosen({1, 3, 2, 3, 2}, 4), (std::vector<int32_t>{1, 3, 2, 4}));
  EXPECT_EQ(Chosen(std::vector<float>(6, 0.5f), 3), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(Chosen({-0.0f, 0.0f}, 1), (std::vector<int32_t>{0}));
}

TEST(TopK, NaNIsSmallerThanEveryNumber) {
  EXPECT_EQ(Chosen({kNaN, -kInf, kNaN, 1}, 3), (std::vector<int32_t>{3, 1, 0}));
  EXPECT_EQ(Chosen(std::vector<float>(5, kNaN), 3), (std::vector<int32_t>{0, 1, 2}));
}

TEST(TopK, NothingAsked) {
  EXPECT_TRUE(Chosen({}, 0).empty());
  EXPECT_TRUE(Chosen({1, 2}, 0).empty());
}

TEST(TopK, WrongCountsAreRefused) {
  const std::vector<float> values = {1, 2};
  std::vector<int32_t> chosen(3);
  EXPECT_THROW(TopK(values, 3, chosen), Error);
  EXPECT_THROW(TopK(values, 2, chosen), Error);
  EXPECT_THROW(TopK(values, -1, {}), Error);
}

}  // namespace
}  // namespace ghost
