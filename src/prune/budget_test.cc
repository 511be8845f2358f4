#include "prune/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/random_model.h"
#include "tests/support/logits.h"
#include "tests/support/parallel_config.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(SpreadSparsity, OthersMakeUpForWholeLayers) {
  const ModelConfig config = MakeMamba2(TinyMixer(/*groups=*/1, /*state_dim=*/16), /*layers=*/4, 50);
  EXPECT_THAT(SpreadSparsity(config, 0.5, {}), testing::Each(0.5));
  EXPECT_THAT(SpreadSparsity(config, 0.6, {1}),
              ElementsAre(DoubleEq(0.8), DoubleEq(0.0), DoubleEq(0.8), DoubleEq(0.8)));
  EXPECT_THAT(SpreadSparsity(config, 0.0, {0, 1, 2, 3}), testing::Each(0.0));
}

TEST(SpreadSparsity, SizesCountNotLayers) {
  ModelConfig config = MakeMamba2(TinyMixer(/*groups=*/1, /*state_dim=*/8), /*layers=*/2, 50);
  config.mixers[0].SetGroups(UniformGroups(1, 24));
  // 32 channels, 16 of them go: all from the larger one.
  EXPECT_THAT(SpreadSparsity(config, 0.5, {1}), ElementsAre(DoubleEq(16.0 / 24.0), DoubleEq(0.0)));
}

TEST(SpreadSparsity, WhatCannotBeIsRefused) {
  const ModelConfig config = MakeMamba2(TinyMixer(/*groups=*/1, /*state_dim=*/16), /*layers=*/2, 50);
  EXPECT_THROW(SpreadSparsity(config, 0.5, {2}), Error);
  EXPECT_THROW(SpreadSparsity(config, 0.5, {0}), Error);  // the other would lose all
  EXPECT_THROW(SpreadSparsity(config, 0.1, {0, 1}), Error);
  EXPECT_NO_THROW(SpreadSparsity(config, 0.49, {0}));
}

TEST(AllocateUnits, TheLargestFallPerFloatFirst) {
  const BudgetCurve steep{{9.0, 4.0, 1.0, 0.5, 0.0}, 1}, flat{{1.0, 0.9, 0.8, 0.1, 0.0}, 1};
  const BudgetCurve curves[] = {steep, flat};
  EXPECT_THAT(AllocateUnits(curves, 2), ElementsAre(1, 1));  // at least one each
  EXPECT_THAT(AllocateUnits(curves, 3), ElementsAre(2, 1));
  EXPECT_THAT(AllocateUnits(curves, 4), ElementsAre(3, 1));
  EXPECT_THAT(AllocateUnits(curves, 5),
              ElementsAre(4, 1));  // 0.5 against 0.1; two more of the other do not fit
  EXPECT_THAT(AllocateUnits(curves, 8), ElementsAre(4, 4));
  EXPECT_THAT(AllocateUnits(curves, 100), ElementsAre(4, 4));
}

TEST(AllocateUnits, AJumpMayPassAPlateau) {
  // The first unit of the second curve brings nothing, three together much.
  const BudgetCurve curves[] = {{{3.0, 2.0, 1.5, 1.25, 1.0}, 1}, {{9.0, 8.0, 8.0, 8.0, 0.0}, 1}};
  EXPECT_THAT(AllocateUnits(curves, 5), ElementsAre(1, 4));
}

TEST(AllocateUnits, LargerUnitsCostMore) {
  const BudgetCurve curves[] = {{{4.0, 2.0, 0.0}, 4}, {{4.0, 2.0, 0.0}, 1}};
  EXPECT_THAT(AllocateUnits(curves, 6), ElementsAre(1, 2));
  EXPECT_THAT(AllocateUnits(curves, 10), ElementsAre(2, 2));
}

TEST(AllocateSparsity, LosesTheShareThatWasAskedFor) {
  const Model model = MakeRandomModel(EveryPartConfig(), DType::kF32, 5);
  const Samples samples = {SomeTokens(40), SomeTokens(40)};
  for (const PoolScope pool : {PoolScope::kLayer, PoolScope::kGroup}) {
    const SelectionRule rule{.sparsity = 0.5, .pool = pool};
    const std::vector<double> shares = AllocateSparsity(model, samples, rule, {});
    ASSERT_EQ(shares.size(), model.config().mixers.size());
    double dropped = 0.0, all = 0.0;
    for (size_t i = 0; i < shares.size(); ++i) {
      const auto floats = static_cast<double>(model.config().mixers[i].state_floats());
      EXPECT_GE(shares[i], 0.0);
      EXPECT_LT(shares[i], 1.0);
      dropped += shares[i] * floats;
      all += floats;
    }
    EXPECT_NEAR(dropped / all, 0.5, 0.06);
    EXPECT_GE(dropped / all, 0.5 - 1e-9);  // never more state than asked for
  }
  const std::vector<double> kept = AllocateSparsity(model, samples, {.sparsity = 0.3}, {2});
  EXPECT_EQ(kept[1], 0.0);  // layer 2 is the second mixer
  ModelConfig empty = EveryPartConfig();
  empty.mixers[0].SetGroups({0, 0, 0});  // as in a ragged file that lost everything there
  EXPECT_EQ(AllocateSparsity(MakeRandomModel(empty, DType::kF32, 5), samples, {.sparsity = 0.5}, {}).size(),
            3u);
}

}  // namespace
}  // namespace ghost
