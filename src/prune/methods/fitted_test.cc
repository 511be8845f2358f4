#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "prune/methods/fit_problem.h"
#include "prune/prune_layers.h"
#include "prune/statistics/mixer_record.h"
#include "prune/write/apply_mask.h"
#include "prune/write/storage.h"
#include "tests/support/logits.h"
#include "tests/support/parallel_config.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

Samples ManySamples(int64_t count, int64_t length) {
  const std::vector<int32_t> tokens = SomeTokens(count * length);
  Samples samples;
  for (int64_t s = 0; s < count; ++s)
    samples.emplace_back(tokens.begin() + s * length, tokens.begin() + (s + 1) * length);
  return samples;
}

PruneRule Rule(double sparsity) {
  PruneRule rule;
  rule.method = &FindMethod("fitted");
  rule.selection.sparsity = sparsity;
  rule.selection.pool = PoolScope::kGroup;
  return rule;
}

std::vector<LayerOutcome> Prune(const Model& model, const Samples& samples, const PruneRule& rule) {
  SequentialPruner pruner(model, samples, rule);
  return PruneLayers(pruner, nullptr, {}, {});
}

// The weights of all mixers with what the edits replace.
ModelWeights Replaced(const Model& model, const std::vector<LayerOutcome>& outcomes) {
  ModelWeights weights = model.weights();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const LayerEdit& edit = outcomes[i].edit;
    const MixerDims& dims = model.config().mixers[i];
    MixerWeights& mixer = weights.mixers[i];
    if (!edit.state_rows.empty()) mixer.in_proj = ReplaceRows(mixer.in_proj, dims.b_row(), edit.state_rows);
    if (!edit.state_taps.empty()) mixer.conv = ReplaceRows(mixer.conv, dims.conv_b(), edit.state_taps);
    if (!edit.state_biases.empty())
      mixer.conv_bias = ReplaceRows(mixer.conv_bias, dims.conv_b(), edit.state_biases);
  }
  return weights;
}

Model Removed(const Model& model, const std::vector<LayerOutcome>& outcomes) {
  ModelEdit edit;
  ModelWeights weights = Replaced(model, outcomes);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    edit.mixers.push_back(outcomes[i].edit);
    weights.mixers[i] = CompactBlock(weights.mixers[i], model.config().mixers[i], outcomes[i].edit.mask);
  }
  return Model(PrunedConfig(model.config(), edit, {}), weights);
}

Model Masked(const Model& model, const std::vector<LayerOutcome>& outcomes) {
  ModelWeights weights = Replaced(model, outcomes);
  for (size_t i = 0; i < outcomes.size(); ++i)
    weights.mixers[i] = MaskBlock(weights.mixers[i], model.config().mixers[i], outcomes[i].edit.mask,
                                  /*keep_conv_bias=*/false);
  return Model(model.config(), weights);
}

bool SameBytes(const Tensor& a, const Tensor& b) { return std::ranges::equal(a.bytes(), b.bytes()); }

// Every kind of mixer: groups, biases, factors, gates; weights of several types.
TEST(Fitted, LowersTheErrorOfEveryMixerAndSaysHowMuch) {
  const Samples samples = ManySamples(12, 24);
  for (const DType type : {DType::kF32, DType::kBF16, DType::kF16}) {
    const Model model = MakeRandomModel(EveryPartConfig(), type, 5);
    for (const LayerOutcome& outcome : Prune(model, samples, Rule(0.5))) {
      EXPECT_GT(outcome.summary.at("steps"), 0.0);
      EXPECT_LT(outcome.summary.at("error"), 0.9 * outcome.summary.at("error_before_fit")) << outcome.layer;
      EXPECT_EQ(outcome.edit.state_rows.dtype(), type);
    }
  }
}

// What is said of a layer is what the pruned layer does, run by other code.
TEST(Fitted, ErrorsAreThoseOfTheLayerThatIsWritten) {
  const Model model = MakeRandomModel(TinyConfig(2, 8), DType::kBF16, 5);
  const Samples samples = ManySamples(8, 24);
  const std::vector<LayerOutcome> outcomes = Prune(model, samples, Rule(0.5));
  CalibrationStream dense(model, samples), edited(model, samples);
  const ConstView embedded = dense.residual();
  const std::vector<float> before(embedded.data, embedded.data + embedded.rows * embedded.cols);
  dense.Advance(nullptr);
  edited.Advance(&outcomes[0].edit);
  double lost = 0.0, all = 0.0;
  for (size_t i = 0; i < before.size(); ++i) {
    lost += std::pow(double{dense.residual().data[i]} - edited.residual().data[i], 2);
    all += std::pow(double{dense.residual().data[i]} - before[i], 2);
  }
  EXPECT_NEAR(outcomes[0].summary.at("error"), lost / all, 1e-4 * lost / all);
}

// Weights that are right already cannot be improved: those of a mixer whose dropped channels read nothing.
TEST(Fitted, NeverRaisesTheError) {
  const Model whole = MakeRandomModel(TinyConfig(1, 8), DType::kF32, 5);
  LayerMask half = KeepAll(whole.config().mixers[0]);
  half.kept[0] = {0, 2, 5, 6};
  ModelWeights weights = whole.weights();
  for (size_t i = 0; i < weights.mixers.size(); ++i)
    weights.mixers[i] = MaskBlock(weights.mixers[i], whole.config().mixers[i], half, false);
  const Model model(whole.config(), weights);
  for (const LayerOutcome& outcome : Prune(model, ManySamples(6, 16), Rule(0.5))) {
    EXPECT_EQ(outcome.edit.mask.kept, half.kept);
    EXPECT_LE(outcome.summary.at("error"), outcome.summary.at("error_before_fit"));
    EXPECT_LT(outcome.summary.at("error"), 1e-10);
  }
}

TEST(Fitted, LayersThatKeepEverythingAreNotTouched) {
  const Model model = MakeRandomModel(TinyConfig(2, 6), DType::kF32, 5);
  for (const LayerOutcome& outcome : Prune(model, ManySamples(2, 16), Rule(0.0))) {
    EXPECT_FALSE(outcome.edit.replaces_weights());
    EXPECT_EQ(outcome.edit.mask.num_kept(), 12);
  }
}

TEST(Fitted, MaskedIsRemovedAndDroppedChannelsKeepTheirWeights) {
  const Model model = MakeRandomModel(EveryPartConfig(), DType::kF32, 5);
  const Samples samples = ManySamples(6, 24);
  const std::vector<LayerOutcome> outcomes = Prune(model, samples, Rule(0.5));
  const std::vector<float> masked = RunPass(Masked(model, outcomes), samples[0]).logits;
  const std::vector<float> removed = RunPass(Removed(model, outcomes), samples[0]).logits;
  for (size_t i = 0; i < masked.size(); ++i) ASSERT_NEAR(masked[i], removed[i], 1e-4) << i;
  const MixerDims& dims = model.config().mixers[0];
  const std::vector<float> old = ToFloats(model.weights().mixers[0].in_proj),
                           rows = ToFloats(outcomes[0].edit.state_rows);
  const std::vector<int> kept = outcomes[0].edit.mask.Channels(dims.state_begin);
  for (int c = 0; c < dims.state_channels(); ++c) {
    const auto at = static_cast<size_t>(c * dims.d_model);
    const bool same = rows[at] == old[static_cast<size_t>(dims.b_row() * dims.d_model) + at];
    EXPECT_EQ(same, std::ranges::count(kept, c) == 0) << c;
  }
}

TEST(Fitted, ThreadsChangeNothing) {
  const Model model = MakeRandomModel(TinyConfig(2, 6), DType::kF32, 5);
  const Samples samples = ManySamples(5, 70);
  std::vector<LayerOutcome> first;
  for (const int threads : {1, 2, 3, 4}) {
    SetThreads(threads);
    const std::vector<LayerOutcome> outcomes = Prune(model, samples, Rule(0.5));
    if (first.empty()) first = outcomes;
    for (size_t i = 0; i < first.size(); ++i) {
      const LayerEdit &a = outcomes[i].edit, &b = first[i].edit;
      EXPECT_TRUE(SameBytes(a.state_rows, b.state_rows)) << threads;
      EXPECT_TRUE(SameBytes(a.state_taps, b.state_taps)) << threads;
      EXPECT_TRUE(SameBytes(a.state_biases, b.state_biases)) << threads;
      EXPECT_EQ(outcomes[i].summary, first[i].summary) << threads;
    }
  }
  SetThreads(0);
}

TEST(Fitted, ProgressIsHeardAndMayStop) {
  const Model model = MakeRandomModel(TinyConfig(1, 6), DType::kF32, 5);
  struct Stop {};
  PruneHooks hooks;
  int64_t heard = 0;
  hooks.decided = [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, ++heard);
    EXPECT_LE(done, total);
    if (done == 3) throw Stop();
  };
  SequentialPruner pruner(model, ManySamples(8, 16), Rule(0.5));
  EXPECT_THROW(PruneLayers(pruner, nullptr, {}, hooks), Stop);
}

// The gradient of the error by finite differences, for some weights of each kind.
TEST(FitError, GradientsAreThoseOfTheError) {
  const Model model = MakeRandomModel(TinyConfig(2, 6), DType::kF32, 5);
  CalibrationStream stream(model, ManySamples(2, 20));
  const Mixer& mixer = stream.next_mixer();
  MixerRecord record(mixer.dims, 2, 20);
  stream.Observe(record);
  FitError error({record.inputs(), record.outputs(), record.length(), record.moments()});
  EXPECT_LT(error.OfAll(mixer), 1e-10);
  LayerMask mask = KeepAll(mixer.dims);
  mask.kept[0] = {1, 3}, mask.kept[1] = {0, 4};
  SmallMixer small(mixer, mask);
  const FitLayout layout = small.layout();
  FitGradients gradients(small);
  const double now = error.OfSome(small.mixer(), {0, 1}, gradients.Clear());
  EXPECT_NEAR(now, error.OfAll(small.mixer()), 1e-6 * now);
  std::vector<float> all(static_cast<size_t>(layout.size()));
  std::copy_n(gradients.rows().data, layout.taps(), all.begin());
  gradients.CopyFilters(layout, all.data());
  const std::vector<float> weights = small.weights();
  for (const int64_t at : {int64_t{0}, layout.taps() - 1, layout.taps() + 5, layout.biases() - 1,
                           layout.biases(), layout.size() - 1}) {
    const auto error_at = [&](float change) {
      std::vector<float> other = weights;
      other[static_cast<size_t>(at)] += change;
      small.SetWeights(other.data());
      return error.OfAll(small.mixer());
    };
    const double slope = (error_at(1e-2f) - error_at(-1e-2f)) / 2e-2;
    EXPECT_NEAR(all[static_cast<size_t>(at)], slope, 2e-2 * std::fabs(slope) + 2e-5) << at;
  }
}

}  // namespace
}  // namespace ghost
