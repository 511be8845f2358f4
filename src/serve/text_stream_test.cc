#include "serve/text_stream.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

using std::chrono::milliseconds;

const Tokenizer& Bytes() {
  static const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  return tokenizer;
}

TEST(TextStream, SendsWholeCharactersAndStopsBeforeStopStrings) {
  auto queue = std::make_shared<UpdateQueue>(1 << 20);
  TextStream stream(Bytes(), {"END"}, 2, queue);
  std::string text;
  int64_t tokens = 0;
  const auto drain = [&] {
    for (const Update& update : queue->Take(milliseconds(0))) {
      EXPECT_EQ(update.choice, 2u);
      text += update.text;
      tokens += update.tokens;
      if (update.end) {
        EXPECT_EQ(*update.end, EndReason::kStopped);
      }
    }
  };
  bool more = true;
  for (const char c : std::string("h\u00e9 E\u2192ENDx")) {
    if (!more) break;
    more = stream.OnToken(static_cast<unsigned char>(c), nullptr);
    drain();
    EXPECT_TRUE(text.empty() || (text.back() & 0xC0) != 0xC0);
  }
  EXPECT_FALSE(more);
  stream.OnEnd(EndReason::kStopped);
  drain();
  EXPECT_EQ(text, "h\u00e9 E\u2192");
  EXPECT_EQ(tokens, 11);
}

TEST(TextStream, ASlowReaderLosesTheRequestAndHoldsLittle) {
  auto queue = std::make_shared<UpdateQueue>(10000);
  TextStream stream(Bytes(), {}, 0, queue);
  int pushed = 0;
  while (stream.OnToken('a', nullptr) && pushed < 100000) ++pushed;
  EXPECT_LT(pushed, 1000);
  EXPECT_TRUE(queue->overflowed());
  stream.OnEnd(EndReason::kStopped);
  const std::vector<Update> updates = queue->Take(milliseconds(0));
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_TRUE(updates[0].end.has_value());
}

TEST(TextStream, OffsetsCountCharacters) {
  auto queue = std::make_shared<UpdateQueue>(1 << 20);
  TextStream stream(Bytes(), {}, 0, queue);
  stream.OnPromptScores(1, {.chosen = -1.0});
  for (const char c : std::string("\u00e9b")) {
    TokenScores scores{.chosen = -0.5};
    stream.OnToken(static_cast<unsigned char>(c), &scores);
  }
  const std::vector<Update> updates = queue->Take(milliseconds(0));
  ASSERT_EQ(updates.size(), 1u);
  const std::vector<ScoredToken>& scored = updates[0].scored;
  ASSERT_EQ(scored.size(), 5u);
  EXPECT_FALSE(scored[0].scores.has_value());
  EXPECT_EQ(scored[1].scores->chosen, -1.0);
  EXPECT_EQ(scored[2].text_offset, 0u);
  EXPECT_EQ(scored[3].text_offset, 0u);  // the first byte completed nothing
  EXPECT_EQ(scored[4].text_offset, 1u);
}

TEST(TextStream, TokensThatAreNoTextAreShownAsBytes) {
  EXPECT_EQ(TokenText(Bytes(), 'a'), "a");
  EXPECT_EQ(TokenText(Bytes(), 0xE2), "bytes:\\xe2");
  EXPECT_EQ(TokenText(Bytes(), '\n'), "\n");
}

}  // namespace
}  // namespace ghost
