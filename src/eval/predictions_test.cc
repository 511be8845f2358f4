#include "eval/predictions.h"

#include <gtest/gtest.h>

#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "kernels/rows/softmax.h"
#include "tests/support/logits.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

class PredictionsTest : public testing::Test {
 protected:
  // Rows behind the final norm; other tokens stand for another model.
  std::vector<float> Hidden(int32_t moved) {
    std::vector<int32_t> tokens = SomeTokens(300, 48);
    for (int32_t& token : tokens) token += moved;
    const SequenceInput input{tokens};
    Runner runner(model_);
    const ConstView rows = runner.Forward({&input, 1});
    return {rows.data, rows.data + rows.rows * rows.cols};
  }
  ConstView ViewOf(const std::vector<float>& rows) const {
    return {rows.data(), static_cast<int64_t>(rows.size()) / 32, 32};
  }

  ModelConfig config_ = [] {
    ModelConfig config = TinyConfig(1, 6);
    config.token_count = 45;  // 5 padding rows
    return config;
  }();
  const Model model_ = MakeRandomModel(config_, DType::kF32, 3);
  const std::vector<float> hidden_ = Hidden(0), reference_ = Hidden(1);
};

TEST_F(PredictionsTest, AreWhatTheLogitsOfTheirRowsSay) {
  std::vector<Prediction> predictions;
  for (int64_t row = 299; row >= 0; --row)  // more than are computed at a time, in any order
    predictions.push_back({row, static_cast<int32_t>(row * 7 % 45)});
  const std::vector<PredictionScore> scores =
      PredictionScorer(model_).Score(ViewOf(hidden_), predictions, ViewOf(reference_));
  ASSERT_EQ(scores.size(), predictions.size());
  Runner runner(model_), other(model_);
  const ConstView logits = runner.Logits(ViewOf(hidden_)), expected = other.Logits(ViewOf(reference_));
  for (size_t i = 0; i < predictions.size(); ++i) {
    const std::span<const float> row(logits.Row(predictions[i].row), 50);
    EXPECT_EQ(scores[i].correct, ArgMax(row.first(45)) == predictions[i].token);
    EXPECT_NEAR(scores[i].nll, -LogProb(row, predictions[i].token), 1e-5);
    EXPECT_NEAR(scores[i].kl, KlDivergenceRef({expected.Row(predictions[i].row), 50}, row), 1e-5);
  }
}

TEST_F(PredictionsTest, OfTheSameRowsDoNotDiverge) {
  const std::vector<Prediction> predictions = {{0, 1}, {7, 2}, {299, 3}};
  PredictionScorer scorer(model_);
  for (const PredictionScore& score : scorer.Score(ViewOf(hidden_), predictions, ViewOf(hidden_)))
    EXPECT_EQ(score.kl, 0.0);
  for (const PredictionScore& score : scorer.Score(ViewOf(hidden_), predictions)) EXPECT_EQ(score.kl, 0.0);
  EXPECT_TRUE(scorer.Score(ViewOf(hidden_), {}).empty());
}

TEST_F(PredictionsTest, ThreadsChangeNoBit) {
  const std::vector<Prediction> predictions = {{5, 1}, {7, 2}, {250, 3}};
  SetThreads(1);
  const auto one = PredictionScorer(model_).Score(ViewOf(hidden_), predictions, ViewOf(reference_));
  SetThreads(3);
  const auto three = PredictionScorer(model_).Score(ViewOf(hidden_), predictions, ViewOf(reference_));
  SetThreads(0);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].nll, three[i].nll);
    EXPECT_EQ(one[i].kl, three[i].kl);
  }
}

}  // namespace
}  // namespace ghost
