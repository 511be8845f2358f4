// The published documents of every task, against counts made by other programs.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/scripted_task.h"
#include "text/test_files.h"

namespace ghost {
namespace {

struct Totals {
  TaskResult result;
  RequestCounts counts;
  int64_t gold = 0;  // sum of the right answers' numbers
};

// A whole task on a model that finds every token equally likely.
Totals RunWhole(const Task& task, const std::string& path, const std::string& tokenizer_path, int shots = 0) {
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_path);
  ScriptedModel scripted;
  scripted.otherwise = -1.0;
  LanguageModel model(scripted, tokenizer, MakeRequestRules(tokenizer, 2048, BosRule::kNone));
  Totals totals;
  totals.result = task.run(model, path, {.shots = shots, .log_samples = true});
  totals.counts = model.counts();
  for (const OrderedJson& sample : totals.result.samples) {
    if (sample.contains("gold")) totals.gold += sample["gold"].get<int64_t>();
  }
  EXPECT_EQ(totals.result.documents, task.num_documents);
  return totals;
}

#define GHOST_NEOX(variable) GHOST_SHARED_FILE(variable, "tokenizers/gpt-neox-20b/tokenizer.json")

TEST(SharedData, Wikitext) {
  GHOST_NEOX(tokenizer);
  GHOST_SHARED_FILE(path, "wikitext-2/wiki.test.raw");
  const Totals totals = RunWhole(kWikitextTask, path, tokenizer);
  EXPECT_EQ(totals.result.details["words"], 241335);
  EXPECT_EQ(totals.result.details["bytes"], 1290527);
  EXPECT_EQ(totals.counts.scored_tokens, 277199);
  EXPECT_EQ(totals.result.details["log_likelihood"], -277199.0);
  const double bits = MetricOf(totals.result, "bits_per_byte").value;
  EXPECT_NEAR(bits, std::log2(MetricOf(totals.result, "word_perplexity").value) * 241335 / 1290527, 1e-12);
}

TEST(SharedData, Lambada) {
  GHOST_NEOX(tokenizer);
  GHOST_SHARED_FILE(path, "eval/lambada/lambada_test.jsonl");
  const Totals totals = RunWhole(kLambadaTask, path, tokenizer);
  EXPECT_EQ(totals.counts.requests, 5153);
  EXPECT_EQ(totals.counts.input_tokens + 5153, 418644);  // the last token is not read
}

TEST(SharedData, Piqa) {
  GHOST_NEOX(tokenizer);
  GHOST_SHARED_FILE(path, "eval/piqa/valid.jsonl");
  const Totals totals = RunWhole(kPiqaTask, path, tokenizer);
  EXPECT_EQ(totals.counts.requests, 2 * 1838);
  EXPECT_EQ(totals.gold, 928);
}

TEST(SharedData, Arc) {
  GHOST_NEOX(tokenizer);
  GHOST_SHARED_FILE(easy, "eval/arc/ARC-Easy-test.jsonl");
  GHOST_SHARED_FILE(challenge, "eval/arc/ARC-Challenge-test.jsonl");
  const Totals e = RunWhole(kArcEasyTask, easy, tokenizer);
  EXPECT_EQ(e.counts.requests, 9501);
  EXPECT_EQ(e.gold, 3538);
  const Totals c = RunWhole(kArcChallengeTask, challenge, tokenizer);
  EXPECT_EQ(c.counts.requests, 4687);
  EXPECT_EQ(c.gold, 1786);
}

TEST(SharedData, Mmlu) {
  GHOST_NEOX(tokenizer);
  GHOST_SHARED_FILE(path, "eval/mmlu/elementary_mathematics_test.csv");
  const Totals totals = RunWhole(kMmluTask, path, tokenizer, /*shots=*/5);
  EXPECT_EQ(totals.counts.requests, 4 * 378);
  EXPECT_EQ(totals.counts.scored_tokens, 4 * 378);  // a letter with its space is one token
  EXPECT_EQ(totals.gold, 602);
}

}  // namespace
}  // namespace ghost
