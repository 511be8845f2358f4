#include "text/tokenizer/gpt2_split.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"
#include "text/tokenizer/regex.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

std::vector<std::string> ByHand(std::string_view text) {
  std::vector<std::string> words;
  Gpt2Splitter splitter(text);
  for (std::string_view word; splitter.Next(word);) words.emplace_back(word);
  return words;
}

std::vector<std::string> ByPattern(std::string_view text) {
  static const Regex regex{std::string(kGpt2Pattern), "test"};
  std::vector<std::string> words;
  for (const ByteRange& match : regex.FindAll(text))
    words.emplace_back(text.substr(match.begin, match.end - match.begin));
  return words;
}

using Words = std::vector<std::string>;

TEST(Gpt2Split, Examples) {
  EXPECT_EQ(ByHand(""), Words{});
  EXPECT_EQ(ByHand("I'll don't 'tis"), (Words{"I", "'ll", " don", "'t", " '", "tis"}));
  EXPECT_EQ(ByHand("a  b"), (Words{"a", " ", " b"}));
  EXPECT_EQ(ByHand("a \n b\n"), (Words{"a", " \n", " b", "\n"}));
  EXPECT_EQ(ByHand("x=42;  "), (Words{"x", "=", "42", ";", "  "}));
  EXPECT_EQ(ByHand("'re''s"), (Words{"'re", "''", "s"}));
  EXPECT_EQ(ByHand("\u00A0x \u3000y"), (Words{"\u00A0", "x", " ", "\u3000", "y"}));
}

// All strings up to length 5 over characters that distinguish the alternatives.
TEST(Gpt2Split, EqualsThePatternOnAllShortStrings) {
  constexpr const char* kAlphabet[] = {" ", "\n", "'", "s", "l", "e", "r", "1", "!", "é", "\u0085"};
  std::vector<std::string> texts = {""};
  for (size_t begin = 0, length = 0; length < 5; ++length) {
    const size_t end = texts.size();
    for (size_t i = begin; i < end; ++i) {
      for (const char* c : kAlphabet) texts.push_back(texts[i] + c);
    }
    begin = end;
  }
  for (const std::string& text : texts) ASSERT_EQ(ByHand(text), ByPattern(text)) << "'" << text << "'";
}

TEST(Gpt2Split, EqualsThePatternOnRandomUnicode) {
  Rng rng(3);
  // PCRE2 10.42 and utf8proc know different versions of Unicode: stay below the blocks that grew.
  constexpr char32_t kLimits[] = {0x80, 0x300, 0x3000, 0xA000};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = 0; n < 20; ++n) {
      const auto code = static_cast<char32_t>(rng.Bits() % kLimits[rng.Bits() % 4]);
      AppendUtf8(rng.Bits() % 4 == 0 ? U' ' : code, text);
    }
    ASSERT_EQ(ByHand(text), ByPattern(text)) << "'" << text << "'";
  }
}

}  // namespace
}  // namespace ghost
