#include "commands/sensitivity_runs.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "kernels/rows/softmax.h"
#include "prune/write/apply_mask.h"
#include "tests/support/logits.h"
#include "tests/support/masks.h"
#include "tests/support/parallel_config.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

// By run and probe.
using Scores = std::map<std::pair<size_t, size_t>, std::vector<PredictionScore>>;

Scores ScoresOf(const Model& model, const std::vector<Probe>& probes, const std::vector<MixerEdit>& edits) {
  Scores all;
  size_t last_run = 0, last_probe = 0;
  RunEdits(model, probes, edits, [&](size_t run, size_t probe, std::span<const PredictionScore> scores) {
    EXPECT_TRUE(run > last_run || probe >= last_probe);
    std::tie(last_run, last_probe) = std::pair(run, probe);
    EXPECT_TRUE(all.insert({{run, probe}, {scores.begin(), scores.end()}}).second);
  });
  return all;
}

// Every token but the first is predicted, from the one before it.
Probe MakeProbe(int64_t length, int32_t shift = 0) {
  std::vector<int32_t> tokens = SomeTokens(length + 1);
  for (int32_t& token : tokens) token = (token + shift) % 50;
  Probe probe;
  for (int64_t t = 1; t <= length; ++t) probe.predictions.push_back({t - 1, tokens[static_cast<size_t>(t)]});
  tokens.pop_back();
  probe.tokens = std::move(tokens);
  return probe;
}

std::vector<MixerEdit> OneEditPerMixer(const ModelConfig& config) {
  const StateMask mask = UnevenMask(config, 3);
  std::vector<MixerEdit> edits;
  for (size_t i = 0; i < mask.mixers.size(); ++i)
    edits.push_back({static_cast<int>(i), LayerEdit(mask.mixers[i])});
  return edits;
}

// Run 0 is the model itself.
Model ModelOfRun(const Model& model, const std::vector<MixerEdit>& edits, size_t run) {
  ModelWeights weights = model.weights();
  if (run > 0) {
    const LayerMask& mask = edits[run - 1].edit.mask;
    const auto i = static_cast<size_t>(edits[run - 1].ordinal);
    weights.mixers[i] =
        MaskBlock(weights.mixers[i], model.config().mixers[i], mask, /*keep_conv_bias=*/false);
  }
  return Model(model.config(), weights);
}

// The slow and obvious way: the masked model's logits beside the dense one's.
TEST(RunEdits, EveryRunIsTheModelWithOneMixerMasked) {
  for (const ModelConfig& config : {TinyConfig(1, 6), ParallelConfig(), EveryPartConfig(), TinyHybrid()}) {
    const Model model = MakeRandomModel(config, DType::kF32, 5);
    const std::vector<Probe> probes = {MakeProbe(20), MakeProbe(31, 1), MakeProbe(1, 2), MakeProbe(8, 3)};
    const std::vector<MixerEdit> edits = OneEditPerMixer(config);
    const Scores scores = ScoresOf(model, probes, edits);
    ASSERT_EQ(scores.size(), probes.size() * (1 + edits.size()));
    for (size_t run = 0; run <= edits.size(); ++run) {
      const Model changed = ModelOfRun(model, edits, run);
      double divergence = 0.0;
      for (size_t p = 0; p < probes.size(); ++p) {
        const std::vector<float> dense = RunPass(model, probes[p].tokens).logits;
        const std::vector<float> logits = RunPass(changed, probes[p].tokens).logits;
        const std::vector<PredictionScore>& actual = scores.at({run, p});
        ASSERT_EQ(actual.size(), probes[p].predictions.size());
        for (size_t i = 0; i < actual.size(); ++i) {
          const std::span<const float> row = std::span(logits).subspan(50 * i, 50);
          ASSERT_NEAR(actual[i].nll, -LogProb(row, probes[p].predictions[i].token), 1e-5) << config.family;
          ASSERT_NEAR(actual[i].kl, KlDivergenceRef(std::span(dense).subspan(50 * i, 50), row), 1e-5);
          divergence += actual[i].kl;
        }
      }
      // Far above the rounding of 60 predictions, so that a wrong mixer would be noticed.
      EXPECT_EQ(divergence > 1e-4, run > 0) << config.family << " " << divergence;
    }
  }
}

TEST(RunEdits, SeveralEditsOfOneMixerDoNotSeeEachOther) {
  const Model model = MakeRandomModel(TinyHybrid(), DType::kF32, 5);
  const std::vector<Probe> probes = {MakeProbe(12)};
  const LayerEdit weak(UnevenMask(model.config(), 1).mixers[2]), strong(LayerMask{{{}, {3}}});
  const Scores alone = ScoresOf(model, probes, {{2, strong}});
  const Scores both = ScoresOf(model, probes, {{1, LayerEdit(LayerMask{{{0}, {}}})}, {2, weak}, {2, strong}});
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(alone.at({1, 0})[i].nll, both.at({3, 0})[i].nll);
}

// More rows than a pass has: each probe has the scores it has alone.
TEST(RunEdits, BatchesAndThreadsChangeNothing) {
  const Model model = MakeRandomModel(TinyConfig(2, 6), DType::kF32, 5);
  const std::vector<Probe> probes = {MakeProbe(900), MakeProbe(700, 1), MakeProbe(900, 2), MakeProbe(30, 3)};
  const std::vector<MixerEdit> edits = OneEditPerMixer(model.config());
  SetThreads(1);
  const Scores one = ScoresOf(model, probes, edits);
  SetThreads(3);
  const Scores three = ScoresOf(model, probes, edits);
  SetThreads(0);
  for (size_t p = 0; p < probes.size(); ++p) {
    const Scores alone = ScoresOf(model, {probes[p]}, edits);
    for (size_t run = 0; run <= edits.size(); ++run) {
      for (size_t i = 0; i < probes[p].predictions.size(); ++i) {
        const PredictionScore& score = one.at({run, p})[i];
        ASSERT_EQ(score.nll, three.at({run, p})[i].nll);
        ASSERT_EQ(score.kl, three.at({run, p})[i].kl);
        ASSERT_NEAR(score.nll, alone.at({run, 0})[i].nll, 1e-4);
      }
    }
  }
}

TEST(RunEdits, CountsPassesAndMayBeStopped) {
  const Model model = MakeRandomModel(TinyConfig(1, 6), DType::kF32, 5);
  const std::vector<Probe> probes = {MakeProbe(1500), MakeProbe(1500, 1)};  // two batches
  const std::vector<MixerEdit> edits = OneEditPerMixer(model.config());
  std::vector<int64_t> seen;
  struct Stop {};
  EXPECT_THROW(RunEdits(
                   model, probes, edits, [](size_t, size_t, std::span<const PredictionScore>) {},
                   [&](int64_t done, int64_t total) {
                     EXPECT_EQ(total, 6);
                     seen.push_back(done);
                     if (done == 4) throw Stop();
                   }),
               Stop);
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace ghost
