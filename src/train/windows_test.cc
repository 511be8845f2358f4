#include "train/windows.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/error.h"

namespace ghost {
namespace {

std::vector<int32_t> Counting(int count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<int32_t> Window(WindowSource& source, int64_t index, size_t size) {
  std::vector<int32_t> tokens(size, -7);
  source.Fill(index, tokens);
  return tokens;
}

TEST(CorpusWindows, EveryEpochHasEveryWindowOnce) {
  CorpusWindows source(Counting(1003), 10, 5);
  ASSERT_EQ(source.windows_per_epoch(), 99);
  std::vector<std::vector<int32_t>> orders;
  std::set<int32_t> offsets;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    std::set<int32_t> starts;
    orders.emplace_back();
    for (int64_t i = 0; i < 99; ++i) {
      const std::vector<int32_t> window = Window(source, epoch * 99 + i, 11);
      for (size_t k = 1; k < window.size(); ++k) ASSERT_EQ(window[k], window[0] + static_cast<int32_t>(k));
      starts.insert(window[0]);
      orders.back().push_back(window[0]);
    }
    EXPECT_EQ(starts.size(), 99u);
    EXPECT_EQ(*starts.rbegin() - *starts.begin(), 98 * 10);
    offsets.insert(*starts.begin());
    EXPECT_LT(*starts.begin(), 10);
  }
  EXPECT_GT(offsets.size(), 2u);
  EXPECT_NE(orders[0], orders[1]);
}

TEST(CorpusWindows, AWindowDependsOnItsNumberAlone) {
  CorpusWindows one(Counting(500), 7, 5), two(Counting(500), 7, 5), other(Counting(500), 7, 6);
  const std::vector<int32_t> late = Window(one, 300, 8);
  Window(two, 3, 8);
  EXPECT_EQ(Window(two, 300, 8), late);
  bool differs = false;
  for (int64_t i = 0; i < 20; ++i) differs |= Window(one, i, 8) != Window(other, i, 8);
  EXPECT_TRUE(differs);
}

TEST(CorpusWindows, TheLastTokensAreReached) {
  for (int count = 21; count < 45; ++count) {
    CorpusWindows source(Counting(count), 10, 1);
    for (int64_t i = 0; i < 60; ++i) EXPECT_LT(Window(source, i, 11).back(), count);
  }
  EXPECT_THROW(CorpusWindows(Counting(20), 10, 1), Error);
}

TEST(GeneratedWindows, PackDocumentsAndCutTheLast) {
  int calls = 0;
  GeneratedWindows source(
      [&](uint64_t seed) {
        ++calls;
        return std::vector<int32_t>(1 + seed % 4, static_cast<int32_t>(seed % 1000));
      },
      /*separator=*/-1, 3);
  const std::vector<int32_t> window = Window(source, 12, 30);
  EXPECT_GE(calls, 8);
  EXPECT_EQ(Window(source, 12, 30), window);
  EXPECT_NE(Window(source, 13, 30), window);
  GeneratedWindows separated([](uint64_t) { return std::vector<int32_t>{4, 5}; }, 9, 3);
  EXPECT_EQ(Window(separated, 0, 7), (std::vector<int32_t>{4, 5, 9, 4, 5, 9, 4}));
}

class Constant final : public WindowSource {
 public:
  explicit Constant(int32_t id) : id_(id) {}
  void Fill(int64_t index, std::span<int32_t> tokens) override {
    tokens[0] = id_;
    tokens[1] = static_cast<int32_t>(index);
  }

 private:
  int32_t id_;
};

TEST(MixedWindows, TheShareIsExactAndEachSourceIsReadInOrder) {
  Constant main(1), other(2);
  for (const double fraction : {0.0, 0.15, 0.5, 1.0}) {
    MixedWindows mixed(main, other, fraction);
    int32_t next_main = 0, next_other = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      const std::vector<int32_t> window = Window(mixed, i, 2);
      EXPECT_EQ(window[1], window[0] == 1 ? next_main++ : next_other++);
    }
    EXPECT_NEAR(next_other, 1000 * fraction, 1.0);
  }
}

TEST(MixedWindows, TheOtherSourceAloneComesFirst) {
  Constant main(1), other(2);
  MixedWindows mixed(main, other, 0.25, /*others_first=*/10);
  int32_t next_main = 0, next_other = 0;
  for (int64_t i = 0; i < 110; ++i) {
    const std::vector<int32_t> window = Window(mixed, i, 2);
    EXPECT_TRUE(i >= 10 || window[0] == 2) << i;
    EXPECT_EQ(window[1], window[0] == 1 ? next_main++ : next_other++);
  }
  EXPECT_EQ(next_other, 10 + 25);
}

}  // namespace
}  // namespace ghost
