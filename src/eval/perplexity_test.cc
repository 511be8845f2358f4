#include "eval/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "checkpoint/random_model.h"
#include "kernels/rows/softmax.h"
#include "model/runner.h"
#include "tests/support/local_team.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

Model TinyModel() { return MakeRandomModel(TinyConfig(1, 6, /*vocab_size=*/11), DType::kF32, 11); }

std::vector<int32_t> Tokens(int count) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(i * i % 11);
  return tokens;
}

// -log p of tokens[t] after tokens[begin..t), the slow and obvious way; `first` replaces the first token
// read.
double Loss(const Model& model, std::vector<int32_t> tokens, int begin, int t, int32_t first = -1) {
  if (first >= 0) tokens[static_cast<size_t>(begin)] = first;
  Runner runner(model);
  SequenceState state(model.config());
  const auto context =
      std::span<const int32_t>(tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(t - begin));
  return -LogProb(runner.PrefillLogits(context, state), tokens[static_cast<size_t>(t)]);
}

// A window is one pass, yet its state is rounded after every token, as in decoding.
TEST(Perplexity, SmallStatesAreRoundedAfterEveryToken) {
  const Model model = TinyModel();
  const std::vector<int32_t> tokens = Tokens(21);
  const double exact = Perplexity(model, tokens, {.length = 21}).nll;
  for (const StateType type : {StateType::kBF16, StateType::kF16, StateType::kInt8}) {
    Runner runner(model, {.type = type});
    SequenceState state(model.config(), type);
    double sum = 0.0;
    for (size_t t = 0; t + 1 < tokens.size(); ++t)
      sum -= LogProb(runner.PrefillLogits({&tokens[t], 1}, state), tokens[t + 1]);
    const double nll = Perplexity(model, tokens, {.length = 21, .state_type = type}).nll;
    EXPECT_NEAR(nll, sum / 20, 1e-5) << NameOf(type);
    EXPECT_NE(nll, exact) << NameOf(type);
  }
}

TEST(Perplexity, WindowsAreDisjointAndDropTheRemainder) {
  const Model model = TinyModel();
  const std::vector<int32_t> tokens = Tokens(23);
  const PerplexityResult r = Perplexity(model, tokens, {.length = 7});
  double sum = 0.0;
  for (const int begin : {0, 7, 14}) {
    for (int t = begin + 1; t < begin + 7; ++t) sum += Loss(model, tokens, begin, t);
  }
  EXPECT_EQ(r.windows, 3);
  EXPECT_EQ(r.scored, 18);
  EXPECT_NEAR(r.nll, sum / 18, 1e-5);
  EXPECT_NEAR(r.perplexity, std::exp(sum / 18), 1e-4);
  EXPECT_GT(r.standard_error, 0.0);
}

TEST(Perplexity, LlamaCppScoresTheSecondHalfAndReplacesTheFirstToken) {
  const Model model = TinyModel();
  const std::vector<int32_t> tokens = Tokens(17);
  const PerplexityResult r =
      Perplexity(model, tokens, {.variant = PerplexityVariant::kLlamaCpp, .length = 8, .bos_id = 10});
  double sum = 0.0;
  for (const int begin : {0, 8}) {
    for (int t = begin + 5; t < begin + 8; ++t) sum += Loss(model, tokens, begin, t, 10);
  }
  EXPECT_EQ(r.scored, 6);
  EXPECT_NEAR(r.nll, sum / 6, 1e-5);
}

TEST(Perplexity, StridedScoresEveryTokenOnceWithContext) {
  const Model model = TinyModel();
  const std::vector<int32_t> tokens = Tokens(20);
  const PerplexityResult r =
      Perplexity(model, tokens, {.variant = PerplexityVariant::kStrided, .length = 8, .stride = 3});
  double sum = 0.0;
  int scored = 1;
  for (int begin = 0; scored < 20; begin += 3) {
    const int end = std::min(begin + 8, 20);
    for (int t = scored; t < end; ++t) sum += Loss(model, tokens, begin, t);
    scored = end;
  }
  EXPECT_EQ(r.scored, 19);
  EXPECT_NEAR(r.nll, sum / 19, 1e-5);
}

TEST(Perplexity, EveryTeamGivesTheSameBits) {
  const Model model = TinyModel();
  const std::vector<int32_t> tokens = Tokens(7 * 900 + 5);  // seven windows, two of which share a pass
  const PerplexityResult alone = Perplexity(model, tokens, {.length = 900});
  for (const int size : {2, 3, 5}) {
    RunLocalTeam(size, [&](int) {
      const PerplexityResult r = Perplexity(model, tokens, {.length = 900});
      EXPECT_EQ(r.nll, alone.nll);
      EXPECT_EQ(r.standard_error, alone.standard_error);
      EXPECT_EQ(r.windows, 7);
      EXPECT_EQ(r.scored, alone.scored);
    });
  }
}

TEST(Perplexity, LimitAndBadOptions) {
  const Model model = TinyModel();
  const std::vector<int32_t> tokens = Tokens(40);
  EXPECT_EQ(Perplexity(model, tokens, {.length = 10, .max_windows = 2}).windows, 2);
  EXPECT_THROW(Perplexity(model, tokens, {.length = 41}), Error);
  EXPECT_THROW(Perplexity(model, tokens, {.length = 1}), Error);
  EXPECT_THROW(Perplexity(model, tokens, {.variant = PerplexityVariant::kStrided, .length = 8, .stride = 8}),
               Error);
  EXPECT_THROW(PerplexityVariantFromName("word"), Error);
}

}  // namespace
}  // namespace ghost
