#include "prune/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
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

}  // namespace
}  // namespace ghost
