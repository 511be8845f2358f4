// Processes that share a calibration, here played by threads: the same decisions to the bit as one process,
// for every method, also when it is stopped and resumed by another number of processes.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "checkpoint/random_model.h"
#include "prune/budget.h"
#include "prune/prune_layers.h"
#include "tests/support/every_method.h"
#include "tests/support/local_team.h"
#include "tests/support/parallel_config.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

// Two samples share a chunk, so that `count` of them are (count + 1) / 2 pieces.
Samples LongSamples(int count) {
  Rng rng(11);
  Samples samples(static_cast<size_t>(count));
  for (auto& sample : samples) {
    for (int t = 0; t < 700; ++t) sample.push_back(static_cast<int32_t>(rng.Bits() % 50));
  }
  return samples;
}

// Everything a decision holds, as bytes.
std::string BytesOf(const std::vector<LayerOutcome>& layers) {
  std::string all;
  const auto add = [&](const void* data, size_t size) { all.append(static_cast<const char*>(data), size); };
  const auto add_tensor = [&](const Tensor& t) { add(t.data(), t.num_bytes()); };
  for (const LayerOutcome& layer : layers) {
    add(layer.scores.data(), layer.scores.size() * sizeof(double));
    for (const auto& kept : layer.edit.mask.kept) add(kept.data(), kept.size() * sizeof(int));
    for (const auto& errors : layer.errors) add(errors.data(), errors.size() * sizeof(double));
    for (const auto& [name, value] : layer.summary) add(&value, sizeof value);
    for (const Tensor* t : {&layer.edit.state_rows, &layer.edit.state_taps, &layer.edit.state_biases}) {
      if (!t->empty()) add_tensor(*t);
    }
    for (const auto& [name, tensor] : layer.edit.tensors) add_tensor(tensor);
  }
  return all;
}

class PruneTeamTest : public testing::TestWithParam<Method> {
 protected:
  PruneRule Rule(std::string variant = "") const {
    PruneRule rule;
    rule.method = &FindMethod(GetParam().name);
    rule.variant = std::move(variant);
    return rule;
  }
};

TEST_P(PruneTeamTest, SameBitsForEveryTeam) {
  for (const ModelConfig& config : {TinyHybrid(), EveryPartConfig()}) {
    const Model model = MakeRandomModel(config, DType::kF32, 8);
    const Samples samples = LongSamples(5);
    SequentialPruner whole(model, samples, Rule());
    const std::string alone = BytesOf(PruneLayers(whole, nullptr, {}, {}));
    for (const int size : {2, 3, 4}) {
      RunLocalTeam(size, [&](int rank) {
        SequentialPruner pruner(model, samples, Rule());
        EXPECT_EQ(BytesOf(PruneLayers(pruner, nullptr, {}, {})), alone) << rank << " of " << size;
        EXPECT_EQ(pruner.all_rows(), whole.all_rows());
        const ConstView mine = pruner.residual();
        if (!GetParam().make_statistic) return;
        const float* expected = whole.residual().Row(pruner.first_row());
        EXPECT_TRUE(std::equal(mine.data, mine.data + mine.rows * mine.cols, expected));
        EXPECT_LE(mine.rows, 2100);  // each holds its own chunks only
      });
    }
  }
}

TEST_P(PruneTeamTest, VariantsHaveTheSameBits) {
  const Model model = MakeRandomModel(TinyConfig(2, 6), DType::kF32, 3);
  const Samples samples = LongSamples(3);
  for (const std::string_view variant : GetParam().variants) {
    SequentialPruner whole(model, samples, Rule(std::string(variant)));
    const std::string alone = BytesOf(PruneLayers(whole, nullptr, {}, {}));
    RunLocalTeam(3, [&](int) {
      SequentialPruner pruner(model, samples, Rule(std::string(variant)));
      EXPECT_EQ(BytesOf(PruneLayers(pruner, nullptr, {}, {})), alone) << variant;
    });
  }
}

// Snapshots after every layer; each stretch has another number of processes.
TEST_P(PruneTeamTest, ResumedByAnotherTeamEndsTheSame) {
  struct Stop {};
  const Model model = MakeRandomModel(TinyHybrid(), DType::kF32, 8);
  const Samples samples = LongSamples(5);
  SequentialPruner whole(model, samples, Rule());
  const std::string alone = BytesOf(PruneLayers(whole, nullptr, {}, {}));
  const TempDir dir;
  const int sizes[] = {2, 3, 1, 4, 2};
  for (int stretch = 0; stretch < 5; ++stretch) {
    const bool last = stretch == 4;
    const auto run = [&](int rank) {
      double now = 0;
      Journal journal(dir.File("j"), {{"method", GetParam().name}}, {.clock = [&] { return now += 3600; }});
      SequentialPruner pruner(model, samples, Rule());
      const ConstView mine = pruner.residual();
      const int64_t begin = pruner.first_row() * mine.cols;
      Journal::Progress saved =
          journal.Load(model.config(), pruner.all_rows() * mine.cols, {begin, begin + mine.rows * mine.cols});
      WaitForTeam();
      EXPECT_EQ(saved.layers.size(), static_cast<size_t>(stretch));
      EXPECT_EQ(saved.snapshot_layers, GetParam().make_statistic ? stretch : 0);
      PruneHooks hooks;
      hooks.pruned = [&](int done, int) {
        if (done != stretch + 1 || last) return;
        WaitForTeam();
        throw Stop();
      };
      try {
        const auto layers = PruneLayers(pruner, rank == 0 ? &journal : nullptr, std::move(saved), hooks);
        EXPECT_TRUE(last);
        EXPECT_EQ(BytesOf(layers), alone);
      } catch (const Stop&) {
        EXPECT_FALSE(last);
      }
    };
    RunLocalTeam(sizes[stretch], run);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, PruneTeamTest, EveryMethod(), MethodTestName);

TEST(PruneTeam, BudgetsAndDenseScoresHaveTheSameBits) {
  const Model model = MakeRandomModel(TinyHybrid(), DType::kF32, 8);
  const Samples samples = LongSamples(7);
  const SelectionRule rule{.sparsity = 0.4};
  const std::vector<double> alone = AllocateSparsity(model, samples, rule, {1});
  const std::vector<LayerSaliency> scores = ScoreDense(model, samples);
  for (const int size : {2, 3, 4, 6}) {  // of the last, two have nothing to do
    RunLocalTeam(size, [&](int) {
      EXPECT_EQ(AllocateSparsity(model, samples, rule, {1}), alone);
      const std::vector<LayerSaliency> mine = ScoreDense(model, samples);
      for (size_t i = 0; i < scores.size(); ++i) {
        EXPECT_EQ(mine[i].s, scores[i].s);
        EXPECT_EQ(mine[i].p, scores[i].p);
        EXPECT_EQ(mine[i].q, scores[i].q);
      }
    });
  }
}

}  // namespace
}  // namespace ghost
