#include "serve/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/rows/softmax.h"
#include "tests/support/serve_testing.h"

namespace ghost {
namespace {

constexpr ServeClock::time_point kNow{};

BatcherOptions SmallOptions() {
  BatcherOptions options;
  options.prompt_rows = 16;
  options.min_prefix = 4;
  return options;
}

void RunAll(Batcher& batcher) {
  while (AdmitAndStep(batcher, kNow)) {
  }
}

std::shared_ptr<Recorder> AddJob(Batcher& batcher, std::vector<int32_t> prompt, int64_t max_tokens,
                                 std::string client = "") {
  auto recorder = std::make_shared<Recorder>();
  SequenceJob job = MakeJob(std::move(prompt), max_tokens, recorder);
  job.client = std::move(client);
  batcher.Add(std::move(job));
  return recorder;
}

class EveryModel : public testing::TestWithParam<const Model* (*)()> {};
INSTANTIATE_TEST_SUITE_P(Batcher, EveryModel,
                         testing::Values([] { return &TinyModel(); }, [] { return &TinyHybridModel(); }));

// Sequences of all lengths join while others run and leave before them; each says what it says alone.
TEST_P(EveryModel, SaysTheSameWhateverElseRuns) {
  const Model& model = *GetParam()();
  Batcher batcher(model, SmallOptions());
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (size_t i = 0; i < 12; ++i) {
    recorders.push_back(AddJob(batcher, SomePrompt(1 + 7 * i, i), 5 + static_cast<int64_t>(i % 4) * 6));
    AdmitAndStep(batcher, kNow);
    AdmitAndStep(batcher, kNow);
  }
  RunAll(batcher);
  for (size_t i = 0; i < recorders.size(); ++i) {
    EXPECT_EQ(recorders[i]->end, EndReason::kLength);
    EXPECT_EQ(recorders[i]->ends, 1);
    EXPECT_EQ(recorders[i]->tokens,
              GreedyAlone(model, SomePrompt(1 + 7 * i, i), 5 + static_cast<int>(i % 4) * 6))
        << i;
  }
  EXPECT_EQ(batcher.stats().state_bytes, 0);
  EXPECT_EQ(batcher.stats().active, 0);
}

TEST_P(EveryModel, APrefixThatWasSeenGivesTheSameTokens) {
  const Model& model = *GetParam()();
  Batcher batcher(model, SmallOptions());
  const std::vector<int32_t> first = SomePrompt(40);
  std::vector<int32_t> longer = first;
  for (const int32_t id : SomePrompt(9, 5)) longer.push_back(id);

  AddJob(batcher, first, 3);
  RunAll(batcher);
  EXPECT_EQ(batcher.stats().cached_tokens, 0);
  const auto continued = AddJob(batcher, longer, 8);
  const auto again = AddJob(batcher, first, 8);
  RunAll(batcher);
  EXPECT_EQ(batcher.stats().cached_tokens, 80);  // 40 of the longer one, all of the other
  EXPECT_EQ(batcher.stats().prompt_tokens, 49);
  EXPECT_EQ(continued->tokens, GreedyAlone(model, longer, 8));
  EXPECT_EQ(again->tokens, GreedyAlone(model, first, 8));
}

TEST_P(EveryModel, AConversationContinuesFromItsLastTurn) {
  const Model& model = *GetParam()();
  Batcher batcher(model, SmallOptions());
  const std::vector<int32_t> first = SomePrompt(20);
  const auto turn = AddJob(batcher, first, 10);
  RunAll(batcher);
  std::vector<int32_t> next = first;
  next.insert(next.end(), turn->tokens.begin(), turn->tokens.end());
  for (const int32_t id : SomePrompt(5, 9)) next.push_back(id);
  const auto second = AddJob(batcher, next, 6);
  RunAll(batcher);
  EXPECT_EQ(batcher.stats().cached_tokens, 29);  // the last token of the turn was never read
  EXPECT_EQ(second->tokens, GreedyAlone(model, next, 6));
}

// Prompts that leave a common beginning: the second to do so makes it known, the third gains.
TEST(Batcher, KeepsTheStateWherePromptsBranch) {
  Batcher batcher(TinyModel(), SmallOptions());
  const std::vector<int32_t> shared = SomePrompt(32);
  std::vector<std::vector<int32_t>> prompts;
  for (uint64_t i = 0; i < 3; ++i) {
    prompts.push_back(shared);
    prompts.back().push_back(static_cast<int32_t>(i));
    for (const int32_t id : SomePrompt(6, 20 + i)) prompts.back().push_back(id);
  }
  std::vector<int64_t> cached;
  for (const auto& prompt : prompts) {
    const auto recorder = AddJob(batcher, prompt, 4);
    RunAll(batcher);
    EXPECT_EQ(recorder->tokens, GreedyAlone(TinyModel(), prompt, 4));
    cached.push_back(batcher.stats().cached_tokens);
  }
  EXPECT_THAT(cached, testing::ElementsAre(0, 0, 32));
}

TEST(Batcher, KeepsTheStateAtAMark) {
  Batcher batcher(TinyModel(), SmallOptions());
  const std::vector<int32_t> shared = SomePrompt(32);
  for (uint64_t i = 0; i < 2; ++i) {
    auto recorder = std::make_shared<Recorder>();
    SequenceJob job = MakeJob(shared, 4, recorder);
    job.prompt.push_back(static_cast<int32_t>(i));
    job.prompt.push_back(3);
    job.marks = {32};
    batcher.Add(std::move(job));
    RunAll(batcher);
  }
  EXPECT_EQ(batcher.stats().cached_tokens, 32);
}

// The choices of a request: one reads the prompt, the others start from its end.
TEST(Batcher, EqualPromptsAreReadOnce) {
  Batcher batcher(TinyModel(), SmallOptions());
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (int i = 0; i < 4; ++i) recorders.push_back(AddJob(batcher, SomePrompt(100), 6));
  RunAll(batcher);
  EXPECT_EQ(batcher.stats().prompt_tokens, 100);
  EXPECT_EQ(batcher.stats().cached_tokens, 300);
  for (const auto& recorder : recorders)
    EXPECT_EQ(recorder->tokens, GreedyAlone(TinyModel(), SomePrompt(100), 6));
}

// The other choices of a long prompt have places, but whoever comes after them need not wait for it.
TEST(Batcher, OthersDoNotWaitBehindEqualPrompts) {
  Batcher batcher(TinyModel(), SmallOptions());
  std::vector<std::shared_ptr<Recorder>> choices;
  for (int i = 0; i < 3; ++i) choices.push_back(AddJob(batcher, SomePrompt(2000), 2));
  const auto other = AddJob(batcher, SomePrompt(3, 5), 2);
  for (int i = 0; i < 4; ++i) AdmitAndStep(batcher, kNow);
  EXPECT_TRUE(other->end.has_value());
  EXPECT_FALSE(choices[0]->end.has_value());
  choices[0]->Cancel();  // then another one reads
  RunAll(batcher);
  EXPECT_EQ(choices[1]->tokens, GreedyAlone(TinyModel(), SomePrompt(2000), 2));
  EXPECT_EQ(choices[2]->tokens, choices[1]->tokens);
  EXPECT_EQ(choices[2]->cached, 2000u);
}

// The same text before another question: the second prompt gains already.
TEST(Batcher, ALongPromptKeepsTheStateBeforeItsEnd) {
  Batcher batcher(TinyModel(), SmallOptions());
  const std::vector<int32_t> shared = SomePrompt(1000);
  for (uint64_t i = 0; i < 2; ++i) {
    std::vector<int32_t> prompt = shared;
    for (const int32_t id : SomePrompt(20, 30 + i)) prompt.push_back(id);
    const auto recorder = AddJob(batcher, prompt, 4);
    RunAll(batcher);
    EXPECT_EQ(recorder->cached, i == 0 ? 0u : 1020u - 1020u / 32);
    EXPECT_EQ(recorder->tokens, GreedyAlone(TinyModel(), prompt, 4));
  }
}

TEST(Batcher, WithoutPrefixMemoryNothingIsKept) {
  BatcherOptions options = SmallOptions();
  options.prefix_bytes = 0;
  Batcher batcher(TinyModel(), options);
  for (int i = 0; i < 3; ++i) {
    const auto recorder = AddJob(batcher, SomePrompt(30), 5);
    RunAll(batcher);
    EXPECT_EQ(recorder->tokens, GreedyAlone(TinyModel(), SomePrompt(30), 5));
  }
  EXPECT_EQ(batcher.stats().cached_tokens, 0);
  EXPECT_EQ(batcher.stats().prefix_entries, 0);
}

// A long prompt beside a sequence that generates: a token of that in every pass.
TEST(Batcher, ALongPromptStallsNobody) {
  Batcher batcher(TinyModel(), SmallOptions());
  const auto talker = AddJob(batcher, SomePrompt(3), 1000);
  AdmitAndStep(batcher, kNow);
  const auto reader = AddJob(batcher, SomePrompt(400, 2), 1);
  int passes = 0;
  while (!reader->end) {
    const size_t before = talker->tokens.size();
    ASSERT_TRUE(AdmitAndStep(batcher, kNow));
    EXPECT_EQ(talker->tokens.size(), before + 1);
    ++passes;
  }
  EXPECT_EQ(passes, 25);  // 400 tokens, 16 at a time
  EXPECT_EQ(reader->tokens, GreedyAlone(TinyModel(), SomePrompt(400, 2), 1));
  batcher.EndAll(EndReason::kStopping);
  EXPECT_EQ(talker->end, EndReason::kStopping);
}

// Several prompts share a pass, so that a short one need not wait for a long one.
TEST(Batcher, AShortPromptDoesNotWaitForALongOne) {
  Batcher batcher(TinyModel(), SmallOptions());
  const auto talker = AddJob(batcher, SomePrompt(3), 1000);
  AdmitAndStep(batcher, kNow);
  const auto reader = AddJob(batcher, SomePrompt(2000, 2), 1);
  AdmitAndStep(batcher, kNow);
  const auto brief = AddJob(batcher, SomePrompt(8, 3), 1);
  for (int i = 0; i < 3; ++i) AdmitAndStep(batcher, kNow);
  EXPECT_TRUE(brief->end.has_value());
  EXPECT_FALSE(reader->end.has_value());
  batcher.EndAll(EndReason::kStopping);
}

TEST(Batcher, StatesAreLimitedByMemoryAndOthersWait) {
  BatcherOptions options = SmallOptions();
  options.state_bytes = 3 * SequenceState(TinyModel().config()).bytes();
  Batcher batcher(TinyModel(), options);
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (uint64_t i = 0; i < 8; ++i) recorders.push_back(AddJob(batcher, SomePrompt(5, i), 6));
  int64_t most = 0;
  while (AdmitAndStep(batcher, kNow)) {
    most = std::max(most, batcher.stats().active);
    EXPECT_LE(batcher.stats().state_bytes, options.state_bytes);
  }
  EXPECT_EQ(most, 3);
  for (uint64_t i = 0; i < 8; ++i)
    EXPECT_EQ(recorders[i]->tokens, GreedyAlone(TinyModel(), SomePrompt(5, i), 6));
}

// Keys and values are reserved for the longest a sequence may get.
TEST(Batcher, CachesCountTowardsTheMemory) {
  BatcherOptions options = SmallOptions();
  Batcher counting(TinyHybridModel(), options);
  options.state_bytes = 2 * counting.pool().BytesFor(100) + 1;
  Batcher batcher(TinyHybridModel(), options);
  EXPECT_TRUE(batcher.FitsEver(MakeJob(SomePrompt(40), 60, nullptr)));
  EXPECT_FALSE(batcher.FitsEver(MakeJob(SomePrompt(40), 100000, nullptr)));
  for (uint64_t i = 0; i < 4; ++i) AddJob(batcher, SomePrompt(40, i), 60);
  int64_t most = 0;
  while (AdmitAndStep(batcher, kNow)) most = std::max(most, batcher.stats().active);
  EXPECT_EQ(most, 2);
}

TEST(Batcher, ClientsTakeTurns) {
  BatcherOptions options = SmallOptions();
  options.max_sequences = 1;
  Batcher batcher(TinyModel(), options);
  std::vector<std::shared_ptr<Recorder>> many;
  for (int i = 0; i < 5; ++i) many.push_back(AddJob(batcher, SomePrompt(3), 2, "many"));
  const auto one = AddJob(batcher, SomePrompt(3), 2, "one");
  while (!one->end) ASSERT_TRUE(AdmitAndStep(batcher, kNow));
  EXPECT_TRUE(many[0]->end);
  EXPECT_FALSE(many[2]->end);
  RunAll(batcher);
}

TEST(Batcher, CancelAndDeadlineFreeTheState) {
  Batcher batcher(TinyModel(), SmallOptions());
  const auto cancelled = AddJob(batcher, SomePrompt(3), 1000);
  auto late = std::make_shared<Recorder>();
  SequenceJob job = MakeJob(SomePrompt(4), 1000, late);
  job.deadline = kNow + std::chrono::seconds(1);
  batcher.Add(std::move(job));
  const auto other = AddJob(batcher, SomePrompt(6), 12);
  for (int i = 0; i < 4; ++i) AdmitAndStep(batcher, kNow);
  cancelled->Cancel();
  AdmitAndStep(batcher, kNow);
  EXPECT_EQ(cancelled->end, EndReason::kCancelled);
  EXPECT_EQ(batcher.stats().active, 2);
  AdmitAndStep(batcher, kNow + std::chrono::seconds(1));
  EXPECT_EQ(late->end, EndReason::kDeadline);
  EXPECT_LT(late->tokens.size(), 10u);
  RunAll(batcher);
  EXPECT_EQ(other->tokens, GreedyAlone(TinyModel(), SomePrompt(6), 12));
  EXPECT_EQ(batcher.stats().state_bytes, 0);
}

TEST(Batcher, WaitingJobsEndByCancelAndDeadlineToo) {
  BatcherOptions options = SmallOptions();
  options.max_sequences = 1;
  Batcher batcher(TinyModel(), options);
  const auto running = AddJob(batcher, SomePrompt(3), 1000);
  const auto waiting = AddJob(batcher, SomePrompt(3), 1000);
  AdmitAndStep(batcher, kNow);
  waiting->Cancel();
  AdmitAndStep(batcher, kNow);
  EXPECT_EQ(waiting->end, EndReason::kCancelled);
  EXPECT_EQ(batcher.stats().queued, 0);
  batcher.EndAll(EndReason::kStopping);
}

TEST(Batcher, EndOfTextAndListenersEndASequence) {
  const std::vector<int32_t> alone = GreedyAlone(TinyModel(), SomePrompt(10), 30);
  BatcherOptions options = SmallOptions();
  options.end_of_text = alone[6];
  const auto first = std::ranges::find(alone, alone[6]) - alone.begin();
  Batcher batcher(TinyModel(), options);
  const auto ended = AddJob(batcher, SomePrompt(10), 30);
  auto stopped = std::make_shared<Recorder>();
  stopped->stop_after = 3;
  batcher.Add(MakeJob(SomePrompt(10, 4), 30, stopped));
  auto ignoring = std::make_shared<Recorder>();
  SequenceJob job = MakeJob(SomePrompt(10), 30, ignoring);
  job.ignore_end_of_text = true;
  batcher.Add(std::move(job));
  RunAll(batcher);
  EXPECT_EQ(ended->end, EndReason::kEndOfText);
  EXPECT_EQ(ended->tokens.size(), static_cast<size_t>(first));
  EXPECT_EQ(stopped->end, EndReason::kStopped);
  EXPECT_EQ(stopped->tokens.size(), 3u);
  EXPECT_EQ(ignoring->tokens, alone);
}

// Scores of prompt and answer are those of one pass over both.
TEST(Batcher, ScoresEqualThoseOfOnePass) {
  const Model& model = TinyModel();
  const std::vector<int32_t> prompt = SomePrompt(50);
  auto recorder = std::make_shared<Recorder>();
  Batcher batcher(model, SmallOptions());
  AddJob(batcher, prompt, 1);  // a known prefix must not hide the prompt's scores
  RunAll(batcher);
  SequenceJob job = MakeJob(prompt, 3, recorder);
  job.top_scores = 2;
  job.score_prompt = true;
  batcher.Add(std::move(job));
  RunAll(batcher);

  std::vector<int32_t> all = prompt;
  all.insert(all.end(), recorder->tokens.begin(), recorder->tokens.end());
  Runner runner(model);
  const SequenceInput input{all};
  const ConstView logits = runner.Logits(runner.Forward({&input, 1}));
  std::vector<TokenScores> scores = recorder->prompt_scores;
  scores.insert(scores.end(), recorder->scores.begin(), recorder->scores.end());
  ASSERT_EQ(scores.size(), all.size() - 1);
  for (size_t i = 1; i < all.size(); ++i) {
    const std::span<const float> row(logits.Row(static_cast<int64_t>(i) - 1),
                                     static_cast<size_t>(logits.cols));
    EXPECT_NEAR(scores[i - 1].chosen, LogProb(row, all[i]), 1e-5);
    ASSERT_EQ(scores[i - 1].top.size(), 2u);
    EXPECT_EQ(scores[i - 1].top[0].first, ArgMax(row));
    EXPECT_GE(scores[i - 1].top[0].second, scores[i - 1].top[1].second);
  }
  EXPECT_EQ(recorder->positions.front(), 1u);
  EXPECT_EQ(recorder->positions.back(), 49u);
}

// Rows that pad a vocabulary have logits but no text.
TEST(Batcher, ScoresListOnlyTokensThatExist) {
  BatcherOptions options = SmallOptions();
  options.token_limit = 5;
  Batcher batcher(TinyModel(), options);
  auto recorder = std::make_shared<Recorder>();
  SequenceJob job = MakeJob({1, 2, 3, 4}, 3, recorder);
  job.top_scores = 20;
  job.score_prompt = true;
  batcher.Add(std::move(job));
  RunAll(batcher);
  std::vector<TokenScores> scores = recorder->prompt_scores;
  scores.insert(scores.end(), recorder->scores.begin(), recorder->scores.end());
  ASSERT_EQ(scores.size(), 6u);
  for (const TokenScores& of : scores) {
    EXPECT_EQ(of.top.size(), 5u);
    for (const auto& [id, logprob] : of.top) EXPECT_LT(id, 5);
  }
}

TEST(Batcher, NoTokensAskedForOnlyReadsThePrompt) {
  Batcher batcher(TinyModel(), SmallOptions());
  for (int i = 0; i < 2; ++i) {  // the second time from the cache
    const auto recorder = AddJob(batcher, SomePrompt(20), 0);
    RunAll(batcher);
    EXPECT_EQ(recorder->end, EndReason::kLength);
    EXPECT_TRUE(recorder->tokens.empty());
  }
  EXPECT_EQ(batcher.stats().cached_tokens, 20);
}

// A seed decides, not what runs beside it.
TEST(Batcher, SamplingDependsOnTheSeedAlone) {
  const auto sample = [](uint64_t seed, int others) {
    Batcher batcher(TinyModel(), SmallOptions());
    for (int i = 0; i < others; ++i) AddJob(batcher, SomePrompt(9, 50 + static_cast<uint64_t>(i)), 20);
    auto recorder = std::make_shared<Recorder>();
    SequenceJob job = MakeJob(SomePrompt(10), 20, recorder);
    job.sampler = {.temperature = 1.0, .top_p = 0.9, .seed = seed};
    batcher.Add(std::move(job));
    RunAll(batcher);
    return recorder->tokens;
  };
  EXPECT_EQ(sample(1, 0), sample(1, 7));
  EXPECT_NE(sample(1, 0), sample(2, 0));
}

}  // namespace
}  // namespace ghost
