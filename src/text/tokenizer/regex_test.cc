#include "text/tokenizer/regex.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ghost {
namespace {

std::string Mark(const char* pattern, std::string_view text) {
  std::string out;
  for (const ByteRange& match : Regex(pattern, "t.json").FindAll(text)) {
    out.append("[").append(text.substr(match.begin, match.end - match.begin)).append("]");
  }
  return out;
}

TEST(Regex, WhiteSpaceIsUnicodeEverywhere) {
  EXPECT_EQ(Mark(R"(\s+)", "a\u0085b\u3000c"), "[\u0085][\u3000]");
  EXPECT_EQ(Mark(R"(\S+)", "a\u0085b\u3000c"), "[a][b][c]");
  EXPECT_EQ(Mark(R"([^\s\d]+)", "a\u00851\u0663b"), "[a][b]");
  EXPECT_EQ(Mark(R"(\\s)", "a\\s"), "[\\s]");  // an escaped backslash, then an s
}

TEST(Regex, EmptyMatchesMoveOn) { EXPECT_EQ(Mark("x*", "é"), "[][]"); }

TEST(Regex, LongMatchesDoNotExhaustTheJitStack) {
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(Regex("(?:a|b)+", "t.json").FindAll(text).size(), 1u);
}

TEST(Regex, BadOnesNameFileAndPattern) {
  for (const char* pattern : {"(", "[a", "a{2,1}", R"(\p{Nonsense})", R"(\C)", "*"}) {
    try {
      Regex(pattern, "t.json");
      ADD_FAILURE() << pattern;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
      EXPECT_EQ(e.context().file, "t.json");
      EXPECT_EQ(e.context().tensor, pattern);
    }
  }
}

TEST(Regex, RunawayBacktrackingEndsInAnError) {
  const Regex regex("(a+)+$", "t.json");
  try {
    regex.FindAll(std::string(64, 'a') + "b");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUnsupported);
  }
}

}  // namespace
}  // namespace ghost
