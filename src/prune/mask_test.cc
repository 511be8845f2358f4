#include "prune/mask.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace ghost {
namespace {

MixerDims Dims(int groups, int state_dim) {
  MixerDims dims;
  dims.num_heads = groups;
  dims.head_dim = 1;
  dims.SetGroups(UniformGroups(groups, state_dim));
  return dims;
}

TEST(Mask, CountsAreExactForEverySparsity) {
  const MixerDims dims = Dims(1, 128);
  std::vector<double> scores;
  for (int i = 0; i < 128; ++i) scores.push_back((i * 37) % 128);
  const std::pair<double, int> table[] = {{0.0, 0},  {0.1, 12},  {0.3, 38}, {0.5, 64},
                                          {0.7, 89}, {0.9, 115}, {1.0, 128}};
  for (const auto& [sparsity, pruned] : table) {
    EXPECT_EQ(NumPruned({.sparsity = sparsity}, 128), pruned) << sparsity;
    const LayerMask mask = SelectStates(scores, dims, {.sparsity = sparsity}, 0);
    EXPECT_EQ(mask.num_kept(), 128 - pruned);
    for (const int i : mask.kept[0]) EXPECT_GE(scores[static_cast<size_t>(i)], pruned);  // the largest stay
  }
}

TEST(Mask, TiesDropTheLowerIndexFirst) {
  const std::vector<double> scores = {0.0, 5.0, 0.0, -0.0, 0.0, 7.0};
  EXPECT_EQ(SelectStates(scores, Dims(1, 6), {.sparsity = 0.5}, 0).kept[0], (std::vector<int>{1, 4, 5}));
}

TEST(Mask, PoolingLetsOneGroupKeepAll) {
  const std::vector<double> scores = {1, 2, 3, 4, 50, 60, 70, 80};
  const LayerMask pooled = SelectStates(scores, Dims(2, 4), {.sparsity = 0.5}, 0);
  EXPECT_TRUE(pooled.kept[0].empty());
  EXPECT_EQ(pooled.kept[1], (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(pooled.Channels(Dims(2, 4).state_begin), (std::vector<int>{4, 5, 6, 7}));
  const LayerMask each = SelectStates(scores, Dims(2, 4), {.sparsity = 0.5, .pool = PoolScope::kGroup}, 0);
  EXPECT_EQ(each.kept[0], (std::vector<int>{2, 3}));
  EXPECT_EQ(each.kept[1], (std::vector<int>{2, 3}));
}

TEST(Mask, MultiplesRoundWhatIsKept) {
  // 116, 90, 39 and 13 kept of 128 become the nearest multiples of 8, never nothing.
  const std::pair<double, int> table[] = {{0.1, 120}, {0.3, 88}, {0.5, 64}, {0.7, 40},
                                          {0.9, 16},  {1.0, 8},  {0.0, 128}};
  for (const auto& [sparsity, kept] : table) {
    EXPECT_EQ(128 - NumPruned({.sparsity = sparsity, .multiple = 8}, 128), kept) << sparsity;
  }
}

TEST(Mask, NanAndBadSparsityAreErrors) {
  const std::vector<double> scores = {1.0, std::nan(""), 2.0};
  try {
    SelectStates(scores, Dims(1, 3), {}, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("layer 4, state channel 1"), std::string::npos);
  }
  for (const double bad : {-0.1, 1.1, std::nan("")}) EXPECT_THROW(NumPruned({.sparsity = bad}, 8), Error);
}

}  // namespace
}  // namespace ghost
