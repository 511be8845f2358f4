#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/scripted_task.h"

namespace ghost {
namespace {

TEST_F(ScriptedTask, WikitextCountsWordsOfThePageAndTokensOfTheText) {
  const std::string file = dir.Write("w.raw", " = A = \n b , c \n = B = \n");
  scripted.otherwise = -0.5;
  const TaskResult r = Run(kWikitextTask, file, {}, /*max_length=*/8);
  ASSERT_EQ(r.documents, 2);
  // The newline before a title ends the page and is not part of it.
  const std::string first = " = A =\nb, c ", second = " = B =\n";
  EXPECT_EQ(r.samples[0]["text"], first);
  EXPECT_EQ(r.samples[1]["text"], second);
  // Words of the page before detokenising, pieces between white space, empty ones at both ends counted:
  // "", =, A, =, b, ",", c, "" and "", =, B, =, "".
  EXPECT_EQ(r.samples[0]["words"], 8);
  EXPECT_EQ(r.samples[1]["words"], 5);
  EXPECT_EQ(r.details["bytes"], 15 + 8);
  const double nll = 0.5 * (12 + 7);  // a token is a byte of the text
  EXPECT_DOUBLE_EQ(MetricOf(r, "word_perplexity").value, std::exp(nll / 13));
  EXPECT_DOUBLE_EQ(MetricOf(r, "byte_perplexity").value, std::exp(nll / 23));
  EXPECT_DOUBLE_EQ(MetricOf(r, "bits_per_byte").value, nll / 23 / std::log(2.0));
  EXPECT_FALSE(MetricOf(r, "word_perplexity").standard_error);
  // 12 tokens in windows of 8: the second scores 4 and sees 4 earlier ones and one of context.
  ASSERT_EQ(scripted.requests.size(), 3u);
  EXPECT_EQ(scripted.requests[0].tokens.front(), kScriptedPrefix);
  EXPECT_EQ(Decode(scripted.requests[1]), first.substr(3));
  EXPECT_EQ(scripted.requests[1].num_targets, 4);
  EXPECT_EQ(counts.scored_tokens, 12 + 7);
}

}  // namespace
}  // namespace ghost
