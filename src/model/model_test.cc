// Properties of models that need no reference: unequal state sizes, sequences without a state, sampling.
#include "model/model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "checkpoint/random_model.h"
#include "model/cost.h"
#include "model/runner.h"
#include "model/sampler.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

std::vector<int32_t> SomeTokens(int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(i * 7919 % 50));
  return tokens;
}

std::vector<float> Logits(const Model& model, std::span<const int32_t> tokens, bool stepwise) {
  Runner runner(model);
  SequenceState state(model.config());
  std::vector<float> all;
  const size_t step = stepwise ? 1 : tokens.size();
  for (size_t t = 0; t < tokens.size(); t += step) {
    const SequenceInput input{tokens.subspan(t, step), &state};
    const ConstView rows = runner.Logits(runner.Forward({&input, 1}));
    for (int64_t r = 0; r < rows.rows; ++r) all.insert(all.end(), rows.Row(r), rows.Row(r) + rows.cols);
  }
  return all;
}

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b, float limit) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], limit) << i;
}

TEST(Model, StepwiseEqualsWholeForOddStateSizes) {
  for (const int N : {1, 3, 61, 64, 90, 127}) {
    const Model model = MakeRandomModel(TinyConfig(2, N), DType::kF32, 7);
    const std::vector<int32_t> tokens = SomeTokens(70);
    ExpectClose(Logits(model, tokens, /*stepwise=*/true), Logits(model, tokens, /*stepwise=*/false), 1e-4f);
  }
}

// Two continuations of one state in one pass, and one from zeros, none of which keeps a state.
TEST(Model, SequencesMayKeepNoState) {
  ModelConfig config = TinyConfig(2, 16);
  config.mixers[1].SetGroups({0, 5, 12});  // parts of a state differ in size
  const Model model = MakeRandomModel(config, DType::kF32, 5);
  Runner runner(model);
  const std::vector<int32_t> tokens = SomeTokens(30);
  const std::span<const int32_t> all(tokens), before = all.first(20), after = all.subspan(20);
  SequenceState start(config);
  runner.PrefillLogits(before, start);
  const std::vector<SequenceInput> inputs = {
      {after.first(3), nullptr, &start}, {after, nullptr, &start}, {before, nullptr}};
  const ConstView rows = runner.Logits(runner.Forward(inputs));
  const std::vector<float> logits(rows.data, rows.data + rows.rows * rows.cols);
  const auto part = [&](int64_t row, int64_t count) {
    return std::vector<float>(logits.begin() + row * rows.cols, logits.begin() + (row + count) * rows.cols);
  };
  // `start` is not changed: it can be continued afterwards.
  const SequenceInput own{after, &start};
  const ConstView moved = runner.Logits(runner.Forward({&own, 1}));
  ExpectClose(part(3, 10), std::vector<float>(moved.data, moved.data + moved.rows * moved.cols), 1e-5f);
  ExpectClose(part(0, 3), part(3, 3), 1e-5f);
  ExpectClose(part(13, 20), Logits(model, before, /*stepwise=*/false), 1e-5f);
}

TEST(Model, LayersAndGroupsMayHaveDifferentStateSizes) {
  ModelConfig config = TinyConfig(2, 16);
  config.mixers[0].SetGroups({0, 5, 12});  // N = 5 and 7
  config.mixers[1].SetGroups({0, 0, 9});   // a group that lost all its channels
  const Model model = MakeRandomModel(config, DType::kF32, 3);
  const std::vector<int32_t> tokens = SomeTokens(40);
  const std::vector<float> logits = Logits(model, tokens, /*stepwise=*/false);
  ExpectClose(Logits(model, tokens, /*stepwise=*/true), logits, 1e-4f);
  for (const float v : logits) ASSERT_TRUE(std::isfinite(v));
  EXPECT_EQ(SsmStateBytes(config), 4 * 4 * 8 * (5 + 7 + 0 + 9));
}

TEST(Model, TokensOutsideTheVocabularyAreRefused) {
  const Model model = MakeRandomModel(TinyConfig(1, 4), DType::kF32, 1);
  for (const int32_t bad : {-1, 50}) {
    const std::vector<int32_t> tokens = {1, bad};
    EXPECT_THROW(Logits(model, tokens, false), Error);
  }
}

TEST(Sampler, GreedyNucleusAndSeeds) {
  const std::vector<float> logits = {0.0f, 3.0f, 3.0f, -1.0f, 9.0f};
  Sampler greedy({});
  EXPECT_EQ(greedy.Sample(logits, 5), 4);
  EXPECT_EQ(greedy.Sample(logits, 4), 1);  // padding row excluded; ties to the lower id
  Sampler narrow({.temperature = 1.0, .top_p = 0.5, .seed = 1});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(narrow.Sample(logits, 5), 4);
  Sampler a({.temperature = 2.0, .top_p = 1.0, .seed = 9}), b({.temperature = 2.0, .top_p = 1.0, .seed = 9});
  std::vector<int> seen(5);
  for (int i = 0; i < 2000; ++i) {
    const int32_t id = a.Sample(logits, 4);
    EXPECT_EQ(id, b.Sample(logits, 4));
    seen[static_cast<size_t>(id)]++;
  }
  EXPECT_EQ(seen[4], 0);
  // softmax of (0, 3, 3, -1) / 2: 0.0917, 0.4111, 0.4111, 0.0556... each within four standard errors
  const double z = 1.0 + 2.0 * std::exp(1.5) + std::exp(-0.5);
  EXPECT_NEAR(seen[1] / 2000.0, std::exp(1.5) / z, 0.045);
  EXPECT_NEAR(seen[0] / 2000.0, 1.0 / z, 0.03);
}

}  // namespace
}  // namespace ghost
