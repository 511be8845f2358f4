#include "prune/methods/balanced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/error.h"
#include "base/rng.h"
#include "checkpoint/random_model.h"
#include "prune/calibration_stream.h"
#include "prune/prune_layers.h"
#include "prune/statistics/balance_moments.h"
#include "prune/write/storage.h"
#include "tests/support/logits.h"
#include "tests/support/parallel_config.h"

namespace ghost {
namespace {

// x^T a y
double Form(const double* x, std::span<const double> a, const double* y, int64_t N) {
  double sum = 0.0;
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t k = 0; k < N; ++k) sum += x[i] * a[static_cast<size_t>(i * N + k)] * y[k];
  }
  return sum;
}

// Sums of `rank` squares.
std::vector<double> Moments(int64_t N, int rank, uint64_t seed) {
  std::vector<double> a(static_cast<size_t>(N * N)), x(static_cast<size_t>(N));
  Rng rng(seed);
  for (int s = 0; s < rank; ++s) {
    for (double& v : x) v = rng.Normal();
    for (int64_t i = 0; i < N; ++i) {
      for (int64_t k = 0; k < N; ++k)
        a[static_cast<size_t>(i * N + k)] += x[static_cast<size_t>(i)] * x[static_cast<size_t>(k)];
    }
  }
  return a;
}

TEST(Balance, OneDiagonalMeasuresBoth) {
  constexpr int64_t N = 9;
  const std::vector<double> p = Moments(N, 20, 1), q = Moments(N, 20, 2);
  const BalancedBasis basis = Balance(p, q, N);
  for (int64_t i = 0; i < N; ++i) {
    const double *v = basis.v.data() + i * N, *w = basis.w.data() + i * N;
    const double strength = basis.strengths[static_cast<size_t>(i)];
    EXPECT_LE(strength, basis.strengths[static_cast<size_t>(std::max<int64_t>(i - 1, 0))]);
    for (int64_t k = 0; k < N; ++k) {
      const double *other_v = basis.v.data() + k * N, *other_w = basis.w.data() + k * N;
      EXPECT_NEAR(std::inner_product(w, w + N, other_v, 0.0), i == k ? 1.0 : 0.0, 1e-9);
      EXPECT_NEAR(Form(v, p, other_v, N), i == k ? strength : 0.0, 1e-6 * basis.strengths[0]);
      EXPECT_NEAR(Form(w, q, other_w, N), i == k ? strength : 0.0, 1e-6 * basis.strengths[0]);
    }
  }
}

// Data that never show some directions still leave a whole basis: with all of it nothing is lost.
TEST(Balance, DirectionsWithoutDataComeLastAndStayWellDefined) {
  constexpr int64_t N = 12;
  const BalancedBasis basis = Balance(Moments(N, 3, 1), Moments(N, 5, 2), N);
  EXPECT_LT(basis.strengths[3], 1e-3 * basis.strengths[2]);
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t k = 0; k < N; ++k) {
      const double *w = basis.w.data() + i * N, *v = basis.v.data() + k * N;
      EXPECT_NEAR(std::inner_product(w, w + N, v, 0.0), i == k ? 1.0 : 0.0, 1e-5);
    }
  }
  const std::vector<double> zero(static_cast<size_t>(N * N));
  EXPECT_EQ(Balance(zero, Moments(N, 20, 2), N).v[0], 1.0);
  std::vector<double> bad = Moments(N, 20, 1);
  bad[3] = NAN;
  EXPECT_THROW(Balance(bad, Moments(N, 20, 2), N), Error);
}

// P, Q and errors by their definitions, from what the sampler says.
TEST(BalanceMoments, AreTheirDefinition) {
  const Model model = MakeRandomModel(EveryPartConfig(), DType::kF32, 5);
  const Samples samples = {SomeTokens(40), SomeTokens(40)};
  CalibrationStream stream(model, samples);
  const MixerDims& dims = stream.next_mixer().dims;
  const int64_t N = dims.group_size(1);
  struct Reference final : LayerStatistic {
    StepSampler sampler{SampleStride(80, 40)};
    std::vector<std::vector<double>> steps;  // P_t, then C'_t, of group 1
    bool needs_scan() const override { return true; }
    void Add(const MixerChunk& chunk) override {
      sampler.Run(chunk, [&](int group, std::span<const StepSampler::Sample> samples) {
        if (group != 1) return;
        for (const auto& [step, c] : samples) {
          steps.emplace_back();
          for (int64_t i = 0; i < step.rows; ++i)
            steps.back().insert(steps.back().end(), step.Row(i), step.Row(i) + step.cols);
          steps.back().insert(steps.back().end(), c, c + step.cols);
        }
      });
    }
    void Combine() override {}
  } reference;
  BalanceMoments moments(dims, 80, 40);
  stream.Observe(moments);
  CalibrationStream again(model, samples);
  again.Observe(reference);
  ASSERT_EQ(reference.steps.size(), 6u);  // 3 of 40 in each sample
  std::vector<double> p(static_cast<size_t>(N * N)), q(p);
  for (const std::vector<double>& step : reference.steps) {
    const double* c = step.data() + N * N;
    double trace = 0.0;
    for (int64_t i = 0; i < N; ++i) trace += step[static_cast<size_t>(i * N + i)];
    for (int64_t i = 0; i < N * N; ++i) {
      p[static_cast<size_t>(i)] += std::inner_product(c, c + N, c, 0.0) * step[static_cast<size_t>(i)];
      q[static_cast<size_t>(i)] += trace * c[i / N] * c[i % N];
    }
  }
  const BalancedBasis basis = Balance(p, q, N);
  for (size_t i = 0; i < p.size(); ++i) {
    EXPECT_NEAR(moments.p(1)[i], p[i], 1e-9 * (1.0 + std::fabs(p[0])));
    EXPECT_NEAR(moments.q(1)[i], q[i], 1e-9 * (1.0 + std::fabs(q[0])));
  }
  const std::vector<double> errors = moments.Errors(1, basis.v, basis.w);
  ASSERT_EQ(errors.size(), static_cast<size_t>(N) + 1);
  EXPECT_EQ(errors.back(), 0.0);
  for (int64_t r = 0; r <= N; ++r) {
    double mean = 0.0;
    for (const std::vector<double>& step : reference.steps) {
      std::vector<double> lost(step.begin() + N * N, step.end());
      for (int64_t i = 0; i < r; ++i) {
        const double* w = basis.w.data() + i * N;
        const double along = std::inner_product(w, w + N, step.data() + N * N, 0.0);
        for (int64_t n = 0; n < N; ++n)
          lost[static_cast<size_t>(n)] -= along * basis.v[static_cast<size_t>(i * N + n)];
      }
      mean += Form(lost.data(), step, lost.data(), N) / static_cast<double>(reference.steps.size());
    }
    EXPECT_NEAR(errors[static_cast<size_t>(r)], mean, 1e-5 * errors[0]) << r;
  }
}

class BalancedTest : public testing::Test {
 protected:
  const Model model_ = MakeRandomModel(EveryPartConfig(), DType::kF32, 5);
  const Samples samples_ = {SomeTokens(40), SomeTokens(40), SomeTokens(40)};

  std::vector<LayerOutcome> Prune(const PruneRule& rule) const {
    SequentialPruner pruner(model_, samples_, rule);
    return PruneLayers(pruner, nullptr, {}, {});
  }
  static PruneRule Rule(double sparsity, bool allocates = false) {
    PruneRule rule;
    rule.method = &FindMethod("balanced");
    rule.selection.sparsity = sparsity;
    rule.allocates = allocates;
    return rule;
  }
  Model Mapped(const std::vector<LayerOutcome>& outcomes) const {
    ModelEdit edit;
    ModelWeights weights = model_.weights();
    for (size_t i = 0; i < outcomes.size(); ++i) {
      edit.mixers.push_back(outcomes[i].edit);
      weights.mixers[i].b_map = outcomes[i].edit.tensors.at("b_map.weight");
      weights.mixers[i].c_map = outcomes[i].edit.tensors.at("c_map.weight");
    }
    return Model(PrunedConfig(model_.config(), edit, {.storage = Storage::kMapped}), weights);
  }
};

TEST_F(BalancedTest, WholeGroupsChangeNothing) {
  const Model same = Mapped(Prune(Rule(0.0)));
  EXPECT_EQ(RunPass(same, samples_[0]).logits, RunPass(model_, samples_[0]).logits);
}

TEST_F(BalancedTest, AllDirectionsAreTheDenseModelToRounding) {
  PruneRule rule = Rule(0.5);
  SequentialPruner pruner(model_, samples_, rule);
  std::vector<LayerOutcome> outcomes;
  while (!pruner.done()) outcomes.push_back(pruner.Step());  // not cut
  const std::vector<float> mapped = RunPass(Mapped(outcomes), samples_[0]).logits;
  const std::vector<float> dense = RunPass(model_, samples_[0]).logits;
  for (size_t i = 0; i < dense.size(); ++i) ASSERT_NEAR(mapped[i], dense[i], 2e-3) << i;
}

TEST_F(BalancedTest, LosesLessThanTheChannelsThatGhostDrops) {
  const auto distance = [&](const Model& other) {
    const std::vector<float> a = RunPass(model_, samples_[0]).logits, b = RunPass(other, samples_[0]).logits;
    double sum = 0.0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i] - b[i], 2);
    return sum;
  };
  EXPECT_LT(distance(Mapped(Prune(Rule(0.5)))), distance(Mapped(Prune(Rule(0.8)))));
  EXPECT_GT(distance(Mapped(Prune(Rule(0.5)))), 0.0);
}

TEST_F(BalancedTest, SizesFollowTheBudget) {
  for (const bool allocates : {false, true}) {
    for (const PoolScope pool : {PoolScope::kLayer, PoolScope::kGroup}) {
      PruneRule rule = Rule(0.5, allocates);
      rule.selection.pool = pool;
      int total = 0;
      for (const LayerOutcome& outcome : Prune(rule)) {
        const std::vector<int>& sizes = outcome.edit.state_sizes;
        const int kept = std::accumulate(sizes.begin(), sizes.end(), 0);
        EXPECT_TRUE(allocates || kept == 6) << kept;
        EXPECT_TRUE(pool == PoolScope::kLayer || sizes[0] == sizes[1]);
        for (const auto& [name, tensor] : outcome.edit.tensors)
          EXPECT_EQ(tensor.shape(), (Shape{kept, 6})) << name;
        EXPECT_GT(outcome.summary.at("error"), 0.0);
        total += kept;
      }
      EXPECT_EQ(total, 18);
    }
  }
  PruneRule rule = Rule(0.5);
  rule.sparsities = {0.0, 0.5, 0.9};
  const std::vector<LayerOutcome> outcomes = Prune(rule);
  EXPECT_THAT(outcomes[0].edit.state_sizes, testing::ElementsAre(6, 6));
  EXPECT_EQ(std::accumulate(outcomes[2].edit.state_sizes.begin(), outcomes[2].edit.state_sizes.end(), 0), 2);
}

// The pruning driver runs an edited mixer as the model does that is made of the edit.
TEST_F(BalancedTest, TheDriverRunsMapsAsTheModelDoes) {
  const std::vector<LayerOutcome> outcomes = Prune(Rule(0.5));
  const Model mapped = Mapped(outcomes);
  CalibrationStream edited(model_, samples_), whole(mapped, samples_);
  for (const LayerOutcome& outcome : outcomes) {
    edited.Advance(&outcome.edit);
    whole.Advance(nullptr);
    const ConstView a = edited.residual(), b = whole.residual();
    for (int64_t i = 0; i < a.rows * a.cols; ++i) ASSERT_EQ(a.data[i], b.data[i]) << i;
  }
}

}  // namespace
}  // namespace ghost
