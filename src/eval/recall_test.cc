#include "eval/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "kernels/rows/softmax.h"
#include "model/runner.h"
#include "tests/support/local_team.h"
#include "tests/support/tiny_config.h"
#include "text/test_files.h"
#include "text/tokenizer/bpe_train.h"
#include "text/tokenizer/tokenizer_json.h"

namespace ghost {
namespace {

RecallDocument HeldOut(uint32_t index, size_t max_bytes = kMinRecallBytes) {
  return MakeRecallDocument(RecallSeed(RecallSplit::kHeldOut, 0, index), max_bytes);
}

// Learnt from recall documents themselves, so that whole words are tokens.
Tokenizer SmallTokenizer() {
  std::string text;
  for (uint32_t i = 0; i < 200; ++i) text += MakeRecallDocument(i).text + "\n";
  return Tokenizer(
      ParseTokenizerJson(MakeTokenizerJson(TrainBpe(CountWords(text, ""), "<|endoftext|>", 600)), "small"));
}

std::vector<RecallSample> Samples(const Tokenizer& tokenizer, uint32_t count) {
  std::vector<RecallSample> samples;
  for (uint32_t i = 0; i < count; ++i) samples.push_back(EncodeRecall(HeldOut(i), tokenizer));
  return samples;
}

Model TinyModel(int vocab_size) { return MakeRandomModel(TinyConfig(1, 6, vocab_size), DType::kF32, 11); }

// The logits for ids[t], the slow and obvious way.
std::vector<float> LogitsFor(const Model& model, std::span<const int32_t> ids, int64_t t) {
  Runner runner(model);
  SequenceState state(model.config());
  const auto logits = runner.PrefillLogits(ids.first(static_cast<size_t>(t)), state);
  return {logits.begin(), logits.end()};
}

TEST(EncodeRecall, TargetsAreTheAnswers) {
  for (const Tokenizer& tokenizer : {SmallTokenizer(), LoadTokenizer("tests/fixtures/byte-tokenizer"),
                                     LoadTokenizer("tests/fixtures/tiny-neox")}) {
    for (uint32_t i = 0; i < 30; ++i) {
      const RecallDocument document = HeldOut(i);
      const RecallSample sample = EncodeRecall(document, tokenizer);
      ASSERT_EQ(sample.targets.size(), document.queries.size());
      EXPECT_EQ(tokenizer.Decode(sample.ids, /*skip_special=*/true), document.text);
      const auto decode = [&](int64_t begin, int64_t end) {
        return tokenizer.Decode(std::span(sample.ids).subspan(static_cast<size_t>(begin), end - begin));
      };
      for (size_t q = 0; q < sample.targets.size(); ++q) {
        const RecallTarget& target = sample.targets[q];
        EXPECT_EQ(decode(target.begin, target.end), document.queries[q].answer);
        EXPECT_EQ(decode(target.begin - target.distance, target.begin).size(),
                  document.queries[q].distance());
      }
    }
  }
}

// SentencePiece-like vocabularies put the space in front of words, too.
TEST(EncodeRecall, RealTokenizersHaveTokensThatEndWithWords) {
  for (const char* name :
       {"tokenizers/gpt-neox-20b/tokenizer.json", "tokenizers/mistral-7b-v0.1/tokenizer.json"}) {
    GHOST_SHARED_FILE(file, name);
    const Tokenizer tokenizer = LoadTokenizer(file);
    for (uint32_t i = 0; i < 20; ++i) {
      const RecallDocument document = HeldOut(i, kRecallBytes);
      const RecallSample sample = EncodeRecall(document, tokenizer);
      EXPECT_LT(sample.ids.size(), 700u);
      for (const RecallTarget& target : sample.targets) EXPECT_GT(target.distance, target.end - target.begin);
    }
  }
}

TEST(EncodeRecall, StartsWithTheTokenThatStartsTexts) {
  const Tokenizer tokenizer = SmallTokenizer();
  EXPECT_EQ(EncodeRecall(HeldOut(0), tokenizer).ids.front(), tokenizer.eos_id());
}

TEST(ScoreRecall, EqualsOneQueryAtATime) {
  const Tokenizer tokenizer = SmallTokenizer();
  const Model model = TinyModel(tokenizer.vocab_size());
  const std::vector<RecallSample> samples = Samples(tokenizer, 3);
  const RecallScores scores = ScoreRecall(model, samples);
  for (size_t s = 0; s < samples.size(); ++s) {
    for (size_t q = 0; q < samples[s].targets.size(); q += 4) {
      const RecallTarget& target = samples[s].targets[q];
      bool correct = true;
      double nll = 0.0;
      for (int64_t t = target.begin; t < target.end; ++t) {
        const int32_t token = samples[s].ids[static_cast<size_t>(t)];
        const std::vector<float> logits = LogitsFor(model, samples[s].ids, t);
        correct = correct && ArgMax(logits) == token;
        nll -= LogProb(logits, token);
      }
      EXPECT_EQ(scores[s][q].correct, correct);
      EXPECT_NEAR(scores[s][q].nll, nll, 1e-4);
    }
  }
}

// The model's own greedy continuation is what exact match asks for; one other token is not.
TEST(ScoreRecall, KnowsARightAnswerFromAWrongOne) {
  const Model model = TinyModel(40);
  RecallSample right{RecallKind::kCopy, 1, {3, 1, 4, 1, 5, 9}, {{6, 9, 5}}};
  while (right.ids.size() < 9) {
    right.ids.push_back(ArgMax(LogitsFor(model, right.ids, static_cast<int64_t>(right.ids.size()))));
  }
  std::vector<RecallSample> samples = {right, right, right, right};
  for (size_t place = 6; place < 9; ++place) {
    int32_t& token = samples[place - 5].ids[place];
    token = (token + 1) % 40;
  }
  const RecallScores scores = ScoreRecall(model, samples);
  EXPECT_TRUE(scores[0][0].correct);
  for (size_t s = 1; s < 4; ++s) {
    EXPECT_FALSE(scores[s][0].correct);
    EXPECT_GT(scores[s][0].nll, scores[0][0].nll);
  }
}

TEST(ScoreRecall, TeamsChangeNoBit) {
  const Tokenizer tokenizer = SmallTokenizer();
  const Model model = TinyModel(tokenizer.vocab_size());
  const std::vector<RecallSample> samples = Samples(tokenizer, 25);  // more than one pass
  const RecallScores alone = ScoreRecall(model, samples);
  for (const int size : {2, 3}) {
    RunLocalTeam(size, [&](int) {
      const RecallScores scores = ScoreRecall(model, samples);
      ASSERT_EQ(scores.size(), alone.size());
      for (size_t s = 0; s < samples.size(); ++s) {
        ASSERT_EQ(scores[s].size(), alone[s].size());
        for (size_t q = 0; q < alone[s].size(); ++q) {
          EXPECT_EQ(scores[s][q].nll, alone[s][q].nll);
          EXPECT_EQ(scores[s][q].correct, alone[s][q].correct);
        }
      }
    });
  }
}

TEST(ScoreRecall, ThreadsChangeNoBit) {
  const Tokenizer tokenizer = SmallTokenizer();
  const Model model = TinyModel(tokenizer.vocab_size());
  const std::vector<RecallSample> samples = Samples(tokenizer, 25);  // more than one pass
  SetThreads(1);
  const RecallScores one = ScoreRecall(model, samples);
  SetThreads(3);
  const RecallScores three = ScoreRecall(model, samples);
  SetThreads(0);
  for (size_t s = 0; s < samples.size(); ++s) {
    for (size_t q = 0; q < one[s].size(); ++q) EXPECT_EQ(one[s][q].nll, three[s][q].nll);
  }
}

TEST(ScoreRecall, ARandomModelIsAtChance) {
  const Tokenizer tokenizer = SmallTokenizer();
  const Model model = TinyModel(tokenizer.vocab_size());
  const std::vector<RecallSample> samples = Samples(tokenizer, 25);
  const RecallResult result = SummarizeRecall(samples, ScoreRecall(model, samples));
  EXPECT_GT(result.all.queries, 100);
  EXPECT_LT(result.all.accuracy, 0.03);
  EXPECT_GT(result.all.nll, std::log(100.0));
}

TEST(SummarizeRecall, GroupsAndErrorsAreRight) {
  const std::vector<RecallSample> samples = {
      {RecallKind::kCopy, 2, {}, {{10, 11, 15}, {20, 21, 16}}},
      {RecallKind::kPairs, 32, {}, {{10, 11, 600}, {20, 21, 255}, {30, 31, 16}, {40, 41, 31}}},
  };
  const RecallScores scores = {{{true, 1.0}, {false, 2.0}},
                               {{false, 3.0}, {true, 4.0}, {true, 5.0}, {true, 9.0}}};
  const RecallResult r = SummarizeRecall(samples, scores);
  EXPECT_EQ(r.all.queries, 6);
  EXPECT_DOUBLE_EQ(r.all.accuracy, 4.0 / 6.0);
  EXPECT_DOUBLE_EQ(r.all.nll, 4.0);
  // Residuals 1 - 4/3 and 3 - 8/3; D / (D - 1) = 2.
  EXPECT_DOUBLE_EQ(r.all.standard_error, std::sqrt(2.0 * (1.0 / 9.0 + 1.0 / 9.0)) / 6.0);

  ASSERT_EQ(r.by_kind.size(), 2u);
  EXPECT_EQ(r.by_kind[0].kind, "copy");
  EXPECT_DOUBLE_EQ(r.by_kind[0].accuracy, 0.5);
  EXPECT_EQ(r.by_kind[0].standard_error, 0.0);
  EXPECT_EQ(r.by_kind[1].queries, 4);

  std::vector<std::string> distances, pairs;
  for (const RecallRate& rate : r.by_distance) distances.push_back(rate.distance);
  for (const RecallRate& rate : r.by_pairs) pairs.push_back(rate.pairs);
  EXPECT_THAT(distances, testing::ElementsAre("1-15", "16-31", "128-255", "512+"));
  EXPECT_THAT(pairs, testing::ElementsAre("1-2", "17-32"));
  EXPECT_EQ(r.by_distance[1].queries, 3);
  EXPECT_DOUBLE_EQ(r.by_distance[1].accuracy, 2.0 / 3.0);
  EXPECT_EQ(r.by_distance_and_pairs.size(), 5u);
}

}  // namespace
}  // namespace ghost
