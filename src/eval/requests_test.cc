#include "eval/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "text/test_files.h"

namespace ghost {
namespace {

using testing::ElementsAre;

// Ids are bytes; there is no BOS.
const Tokenizer& Bytes() {
  static const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  return tokenizer;
}

RequestRules Rules(int64_t max_length, int32_t prefix = 0) {
  return MakeRequestRules(Bytes(), max_length, BosRule::kNone, prefix);
}

std::string Text(const std::vector<int32_t>& ids) { return Bytes().Decode(ids); }

TEST(EncodePair, WhiteSpaceMovesToTheContinuation) {
  const TokenRequest plain = EncodePair(Bytes(), Rules(100), "ab", " cd");
  EXPECT_EQ(Text(plain.tokens), "ab cd");
  EXPECT_EQ(plain.num_targets, 3);
  EXPECT_EQ(Text({plain.input().begin(), plain.input().end()}), "ab c");
  EXPECT_EQ(plain.first_row(), 1);
  const TokenRequest moved = EncodePair(Bytes(), Rules(100), "ab \n\u2003", "cd");
  EXPECT_EQ(Text(moved.tokens), "ab \n\u2003cd");
  EXPECT_EQ(moved.num_targets, 2 + 3 + 2);  // U+2003 is white space of three bytes
}

TEST(EncodePair, AnEmptyContextIsThePrefixToken) {
  const TokenRequest r = EncodePair(Bytes(), Rules(100), "", "xy");
  EXPECT_THAT(r.tokens, ElementsAre(0, 'x', 'y'));
  EXPECT_EQ(r.num_targets, 2);
  // A continuation that starts with the prefix token brings its own context.
  const TokenRequest own = EncodePair(Bytes(), Rules(100, 'x'), "", "xyz");
  EXPECT_THAT(own.tokens, ElementsAre('x', 'y', 'z'));
  EXPECT_EQ(own.num_targets, 2);
  const TokenRequest blank = EncodePair(Bytes(), Rules(100), " ", "x");
  EXPECT_THAT(blank.tokens, ElementsAre(0, ' ', 'x'));
  EXPECT_EQ(blank.num_targets, 2);
}

TEST(EncodePair, InputIsCutOnTheLeft) {
  const TokenRequest r = EncodePair(Bytes(), Rules(4), "abcdef", "gh");
  EXPECT_EQ(Text(r.tokens), "defgh");  // an input of 4: defg
  EXPECT_EQ(r.num_targets, 2);
  const TokenRequest longest = EncodePair(Bytes(), Rules(4), "ab", "cdef");
  EXPECT_EQ(Text(longest.tokens), "bcdef");
  EXPECT_EQ(longest.num_targets, 4);
  EXPECT_THROW(EncodePair(Bytes(), Rules(4), "ab", "cdefg"), Error);
  EXPECT_THROW(EncodePair(Bytes(), Rules(4), "ab", ""), Error);
  EXPECT_THROW(EncodePair(Bytes(), Rules(4, 'x'), "", "x"), Error);
}

TEST(EncodePair, RealTokenizerMergesTheSpace) {
  GHOST_SHARED_FILE(path, "tokenizers/gpt-neox-20b/tokenizer.json");
  const Tokenizer neox = LoadTokenizer(path);
  const RequestRules rules = MakeRequestRules(neox, 2048, BosRule::kNone);
  EXPECT_EQ(rules.prefix_token, 0);
  const std::string context = "Question: What is 2+2?\nAnswer:";
  for (const std::string& ctx : {context, context + " "}) {
    const TokenRequest r = EncodePair(neox, rules, ctx, ctx.ends_with(' ') ? "A" : " A");
    EXPECT_THAT(r.tokens, ElementsAre(23433, 27, 1737, 310, 374, 12, 19, 32, 187, 32869, 27, 329));
    EXPECT_EQ(r.num_targets, 1);
  }
}

TEST(RollingWindows, CoverEveryTokenOnce) {
  std::vector<int32_t> ids(10);
  std::iota(ids.begin(), ids.end(), 100);
  const RequestRules rules = Rules(4, 7);
  const std::vector<TokenRequest> w = RollingWindows(ids, rules);
  ASSERT_EQ(w.size(), 3u);
  EXPECT_THAT(w[0].tokens, ElementsAre(7, 100, 101, 102, 103));
  EXPECT_EQ(w[0].num_targets, 4);
  EXPECT_THAT(w[1].tokens, ElementsAre(103, 104, 105, 106, 107));  // one token of context
  EXPECT_EQ(w[1].num_targets, 4);
  EXPECT_THAT(w[2].tokens, ElementsAre(105, 106, 107, 108, 109));  // filled up with earlier tokens
  EXPECT_EQ(w[2].num_targets, 2);
}

TEST(RollingWindows, EdgeLengths) {
  const RequestRules rules = Rules(4, 7);
  EXPECT_TRUE(RollingWindows({}, rules).empty());
  const auto one = RollingWindows({1}, rules);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_THAT(one[0].tokens, ElementsAre(7, 1));
  EXPECT_EQ(RollingWindows({1, 2, 3, 4}, rules).size(), 1u);
  const auto five = RollingWindows({1, 2, 3, 4, 5}, rules);
  ASSERT_EQ(five.size(), 2u);
  EXPECT_THAT(five[1].tokens, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(five[1].num_targets, 1);
  const auto eight = RollingWindows({1, 2, 3, 4, 5, 6, 7, 8}, rules);
  ASSERT_EQ(eight.size(), 2u);
  EXPECT_THAT(eight[1].tokens, ElementsAre(4, 5, 6, 7, 8));
  EXPECT_EQ(eight[1].num_targets, 4);
  const auto shortest = RollingWindows({1, 2}, Rules(1, 7));
  ASSERT_EQ(shortest.size(), 2u);
  EXPECT_THAT(shortest[1].tokens, ElementsAre(1, 2));
}

TEST(EncodePrompt, LeavesRoomForWhatComes) {
  EXPECT_EQ(Text(EncodePrompt(Bytes(), Rules(10), "abcdefghij", 6)), "ghij");
  EXPECT_EQ(Text(EncodePrompt(Bytes(), Rules(10), "ab", 6)), "ab");
  EXPECT_THAT(EncodePrompt(Bytes(), Rules(10), "", 6), ElementsAre(0));
  EXPECT_THROW(EncodePrompt(Bytes(), Rules(10), "ab", 10), Error);
}

TEST(RequestRules, BosIsAddedAsAsked) {
  const Tokenizer llama = LoadTokenizer("tests/fixtures/tiny-llama");
  const int32_t bos = llama.bos_id();
  ASSERT_GE(bos, 0);
  const auto first = [&](BosRule rule) {
    const RequestRules rules = MakeRequestRules(llama, 100, rule);
    EXPECT_EQ(rules.prefix_token, bos);
    return EncodePair(llama, rules, "a", " b").tokens.front();
  };
  EXPECT_NE(first(BosRule::kNone), bos);
  EXPECT_EQ(first(BosRule::kAuto), bos);
  EXPECT_EQ(first(BosRule::kAlways), bos);
  EXPECT_EQ(BosRuleFromName("auto"), BosRule::kAuto);
  EXPECT_THROW(BosRuleFromName("maybe"), Error);
}

TEST(RequestRules, NeedAPrefixToken) {
  EXPECT_THROW(MakeRequestRules(Bytes(), 10, BosRule::kNone), Error);
  EXPECT_THROW(MakeRequestRules(Bytes(), 10, BosRule::kNone, 256), Error);
  EXPECT_THROW(MakeRequestRules(Bytes(), 10, BosRule::kAlways, 0), Error);
  EXPECT_THROW(MakeRequestRules(Bytes(), 0, BosRule::kNone, 0), Error);
}

}  // namespace
}  // namespace ghost
