#include "prune/statistics/taylor_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "model/backward.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

const std::vector<std::vector<int32_t>> kSamples = {
    {1, 5, 2, 2, 40, 49, 0, 7, 7, 12}, {3, 3, 9, 21}, {44, 1, 0, 8, 30, 31, 32, 33, 34, 2, 2, 2, 19}};

Model SomeModel() {
  ModelConfig config = TinyConfig(2, 5);
  config.mixers[1].SetGroups({0, 3, 7});
  return MakeRandomModel(config, DType::kBF16, 6);
}

// [sample][layer]: the whole gradient of in_proj.
std::vector<std::vector<std::vector<double>>> AllGradients(const Model& model) {
  std::vector<std::vector<std::vector<double>>> all;
  BackwardPass pass(model);
  for (const auto& sample : kSamples) {
    all.emplace_back(model.config().mixers.size());
    const double scale = 1.0 / static_cast<double>(sample.size() - 1);
    pass.Run(sample, scale, [&](int layer, const MixerGradients& g) {
      all.back()[static_cast<size_t>(layer)].assign(g.in_proj.data,
                                                    g.in_proj.data + g.in_proj.rows * g.in_proj.cols);
    });
  }
  return all;
}

// The definition, weight by weight.
double NaiveRow(TaylorVariant variant, const std::vector<float>& w, size_t row, size_t M, size_t layer,
                const std::vector<std::vector<std::vector<double>>>& gradients) {
  const double n = static_cast<double>(gradients.size());
  double score = 0;
  for (size_t i = row * M; i < (row + 1) * M; ++i) {
    double fisher = 0, mean = 0, abs = 0;
    for (const auto& sample : gradients) {
      fisher += sample[layer][i] * sample[layer][i] / n;
      mean += sample[layer][i] / n;
      abs += std::fabs(w[i] * sample[layer][i]) / n;
    }
    if (variant == TaylorVariant::kFisher) score += std::fabs(w[i] * w[i] * fisher) / static_cast<double>(M);
    if (variant == TaylorVariant::kGhattas1) score += std::fabs(w[i] * fisher) / static_cast<double>(M);
    if (variant == TaylorVariant::kAbs) score += std::fabs(w[i] * mean);
    if (variant == TaylorVariant::kAbsSample) score += abs;
  }
  return score;
}

TEST(Taylor, EveryVariantEqualsItsDefinition) {
  const Model model = SomeModel();
  const auto gradients = AllGradients(model);
  for (const TaylorVariant variant : kTaylorVariants) {
    SCOPED_TRACE(NameOf(variant));
    const TaylorScores scores = ScoreTaylor(model, kSamples, variant);
    ASSERT_EQ(scores.mixers.size(), 2u);
    for (size_t layer = 0; layer < 2; ++layer) {
      const MixerDims& dims = model.config().mixers[layer];
      const std::vector<float> w = ToFloats(model.weights().mixers[layer].in_proj);
      const auto GN = static_cast<size_t>(dims.state_channels()), R = static_cast<size_t>(dims.d_inner());
      ASSERT_EQ(scores.mixers[layer].size(), GN);
      for (size_t i = 0; i < GN; ++i) {
        const double expected = NaiveRow(variant, w, 2 * R + i, 32, layer, gradients) +
                                NaiveRow(variant, w, 2 * R + GN + i, 32, layer, gradients);
        EXPECT_GT(expected, 0);
        EXPECT_NEAR(scores.mixers[layer][i] / expected, 1, 2e-5) << layer << " " << i;
      }
    }
  }
}

TEST(Taylor, ThreadsChangeNoBitAndProgressIsHeard) {
  const Model model = SomeModel();
  int64_t heard = 0;
  SetThreads(1);
  const TaylorScores one =
      ScoreTaylor(model, kSamples, TaylorVariant::kFisher, [&](int64_t done, int64_t) { heard = done; });
  SetThreads(4);
  const TaylorScores four = ScoreTaylor(model, kSamples, TaylorVariant::kFisher);
  SetThreads(0);
  EXPECT_EQ(one.mixers, four.mixers);
  EXPECT_EQ(one.mean_loss, four.mean_loss);
  EXPECT_EQ(heard, 3);
  EXPECT_NEAR(one.mean_loss, std::log(50.0), 1.5);  // random weights know nothing
}

TEST(Taylor, NamesAndBadInput) {
  for (const TaylorVariant variant : kTaylorVariants)
    EXPECT_EQ(TaylorVariantFromName(NameOf(variant)), variant);
  EXPECT_THROW(TaylorVariantFromName("second"), Error);
  EXPECT_THROW(ScoreTaylor(SomeModel(), {}, TaylorVariant::kFisher), Error);
  const std::vector<std::vector<int32_t>> too_short = {{1}};
  EXPECT_THROW(ScoreTaylor(SomeModel(), too_short, TaylorVariant::kFisher), Error);
}

}  // namespace
}  // namespace ghost
