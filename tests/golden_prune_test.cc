// Compares saliency, masks and pruned logits with the reference implementation, on every golden case.
#include <gtest/gtest.h>

#include "base/threads.h"
#include "kernels/norm/norm.h"
#include "kernels/rows/gather.h"
#include "model/runner.h"
#include "prune/sequential.h"
#include "tests/support/golden.h"

namespace ghost {
namespace {

void ExpectScores(const std::vector<double>& actual, const std::vector<double>& expected,
                  const std::string& name, double limit) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (expected[i] == 0.0) {
      EXPECT_EQ(actual[i], 0.0) << name << "[" << i << "]";  // exact zeros stay exact
    } else {
      EXPECT_LE(std::fabs(actual[i] - expected[i]), limit * expected[i]) << name << "[" << i << "]";
    }
  }
}

class GoldenPruneTest : public testing::TestWithParam<std::string> {
 protected:
  ~GoldenPruneTest() override { SetThreads(0); }

  Model Load() const { return LoadModel(OpenCheckpoint(golden_.dir()), ReferenceOverrides(GetParam())); }
  Samples AllSamples() const {
    Samples samples;
    for (int64_t b = 0; b < golden_.batch(); ++b)
      samples.emplace_back(golden_.row(b).begin(), golden_.row(b).end());
    return samples;
  }
  static PruneRule Rule(double sparsity) {
    PruneRule rule;
    rule.method = &FindMethod("ghost");
    rule.selection.sparsity = sparsity;
    return rule;
  }
  // The golden mask of a layer as kept indices.
  LayerMask ExpectedMask(const std::string& name, const MixerDims& dims) const {
    const std::vector<uint8_t> bits = golden_.ExpectedBytes(name);
    LayerMask mask;
    for (int g = 0; g < dims.num_groups(); ++g) {
      mask.kept.emplace_back();
      for (int i = 0; i < dims.group_size(g); ++i) {
        if (bits[static_cast<size_t>(dims.state_begin[static_cast<size_t>(g)] + i)])
          mask.kept.back().push_back(i);
      }
    }
    return mask;
  }

  const GoldenCase golden_{GetParam()};
  const GoldenLimits limits_ = LimitsFor(GetParam());
};

TEST_P(GoldenPruneTest, DenseScoresMatch) {
  const Model model = Load();
  const std::vector<LayerSaliency> dense = ScoreDense(model, AllSamples());
  ASSERT_EQ(dense.size(), golden_.NamesWith("ghost.S.").size());
  for (size_t i = 0; i < dense.size(); ++i) {
    const std::string number = std::to_string(model.config().mixers[i].layer);
    ExpectScores(dense[i].s, golden_.ExpectedDoubles("ghost.S." + number), "S." + number, limits_.scores);
    ExpectScores(dense[i].p, golden_.ExpectedDoubles("ghost.P." + number), "P." + number, limits_.scores);
    ExpectScores(dense[i].q, golden_.ExpectedDoubles("ghost.Q." + number), "Q." + number, limits_.scores);
  }
  if (golden_.NamesWith("grouped.S.").empty()) return;
  const std::vector<LayerSaliency> grouped = ScoreDense(
      LoadModel(OpenCheckpoint(golden_.dir()), {.norm_grouping = NormGrouping::kGrouped}), AllSamples());
  for (size_t i = 0; i < grouped.size(); ++i) {
    const std::string name = "grouped.S." + std::to_string(model.config().mixers[i].layer);
    ExpectScores(grouped[i].s, golden_.ExpectedDoubles(name), name, limits_.scores);
  }
}

TEST_P(GoldenPruneTest, SequentialMasksScoresAndLogitsMatch) {
  const Model model = Load();
  const std::pair<double, std::string> runs[] = {
      {0.5, "ghost.mask."}, {0.3, "ghost.k030.mask."}, {0.7, "ghost.k070.mask."}};
  for (const auto& [sparsity, prefix] : runs) {
    SequentialPruner pruner(model, AllSamples(), Rule(sparsity));
    while (!pruner.done()) {
      const MixerDims& dims = model.config().mixers[static_cast<size_t>(pruner.next_mixer())];
      const LayerOutcome outcome = pruner.Step();
      const std::string number = std::to_string(dims.layer);
      EXPECT_EQ(outcome.edit.mask.kept, ExpectedMask(prefix + number, dims).kept) << prefix << number;
      if (sparsity == 0.5)
        ExpectScores(outcome.scores, golden_.ExpectedDoubles("ghost.seq.S." + number), "seq.S." + number,
                     limits_.scores);
    }
    if (sparsity != 0.5) continue;
    // The driver's output, taken through the steps behind the last mixer, is what the pruned model computes.
    Runner runner(model);
    const int64_t rows = pruner.residual().rows, M = pruner.residual().cols;
    Buffer memory(rows * M), final(rows * M);
    const View hidden(memory.data(), rows, M), normed(final.data(), rows, M);
    CopyRows(pruner.residual(), hidden);
    const SequenceBatch sequences = EqualSequences(rows, golden_.length());
    Workspace workspace;
    const int last = model.StepOfMixer(model.config().num_mixers() - 1).number;
    for (const Step& step : model.steps()) {
      if (step.number > last) ForwardStep(step, hidden, {.sequences = sequences}, workspace);
    }
    RmsNorm(hidden, model.final_norm().data(), model.config().norm_eps, normed);
    const ConstView logits = runner.Logits(normed);
    const std::span<const float> flat(logits.data, static_cast<size_t>(logits.rows * logits.cols));
    EXPECT_LE(MaxAbsDifference(flat, golden_.Expected("ghost.logits")), limits_.logits);
  }
}

TEST_P(GoldenPruneTest, ThreadsAndCacheChangeNoBit) {
  const Model model = Load();
  const auto run = [&](int threads, int64_t cache) {
    SetThreads(threads);
    PruneRule rule = Rule(0.5);
    rule.max_cache_bytes = cache;
    SequentialPruner pruner(model, AllSamples(), rule);
    std::vector<double> scores;
    while (!pruner.done()) {
      const LayerOutcome outcome = pruner.Step();
      scores.insert(scores.end(), outcome.scores.begin(), outcome.scores.end());
    }
    const ConstView residual = pruner.residual();
    scores.insert(scores.end(), residual.data, residual.data + residual.rows * residual.cols);
    return scores;
  };
  const std::vector<double> one = run(1, int64_t{1} << 30);
  for (const int threads : {1, 2, 3, 4}) {
    EXPECT_EQ(run(threads, int64_t{1} << 30), one) << threads;
    EXPECT_EQ(run(threads, /*cache=*/0), one) << threads;
  }
}

TEST_P(GoldenPruneTest, RestoredAtEveryLayerEndsTheSame) {
  const Model model = Load();
  SequentialPruner whole(model, AllSamples(), Rule(0.5));
  std::vector<LayerOutcome> outcomes;
  std::vector<std::vector<float>> residuals;
  while (!whole.done()) {
    const ConstView r = whole.residual();
    residuals.emplace_back(r.data, r.data + r.rows * r.cols);
    outcomes.push_back(whole.Step());
  }
  for (size_t from = 0; from < residuals.size(); ++from) {
    SequentialPruner resumed(model, AllSamples(), Rule(0.5));
    resumed.Restore(static_cast<int>(from), residuals[from]);
    for (size_t layer = from; layer < outcomes.size(); ++layer) {
      const LayerOutcome outcome = resumed.Step();
      EXPECT_EQ(outcome.scores, outcomes[layer].scores);
      EXPECT_EQ(outcome.edit.mask.kept, outcomes[layer].edit.mask.kept);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenPruneTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ghost
