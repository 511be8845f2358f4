#include "text/tokenizer/added_tokens.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

// Tokens as <id:text>, other text unchanged, pieces separated by |.
std::string Cut(const std::vector<AddedToken>& tokens, std::string_view text) {
  AddedTokenMatcher matcher;
  for (const AddedToken& token : tokens) matcher.Add(token, token.content);
  std::string out;
  for (const AddedPiece& piece : matcher.Split(text)) {
    const std::string part(text.substr(piece.begin, piece.end - piece.begin));
    if (!out.empty()) out += "|";
    if (piece.id < 0) {
      out += part;
    } else {
      out.append("<").append(std::to_string(piece.id)).append(":").append(part).append(">");
    }
  }
  return out;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const std::vector<AddedToken> tokens = {{.content = "  ", .id = 2},
                                          {.content = "    ", .id = 4},
                                          {.content = "ab", .id = 5},
                                          {.content = "bcd", .id = 6}};
  EXPECT_EQ(Cut(tokens, ""), "");
  EXPECT_EQ(Cut(tokens, "x y"), "x y");
  EXPECT_EQ(Cut(tokens, "       x"), "<4:    >|<2:  >| x");
  EXPECT_EQ(Cut(tokens, "abcd"), "<5:ab>|cd");
  EXPECT_EQ(Cut(tokens, "a bcdab"), "a |<6:bcd>|<5:ab>");
  EXPECT_EQ(Cut({}, "abc"), "abc");
}

TEST(AddedTokens, StripSwallowsWhiteSpace) {
  EXPECT_EQ(Cut({{.content = "M", .id = 1, .lstrip = true}}, "a \u3000M b"), "a|<1: \u3000M>| b");
  EXPECT_EQ(Cut({{.content = "M", .id = 1, .rstrip = true}}, "a M \nb"), "a |<1:M \n>|b");
  EXPECT_EQ(Cut({{.content = "M", .id = 1, .lstrip = true, .rstrip = true}}, "M M"), "<1:M >|<1:M>");
}

TEST(AddedTokens, SingleWordStandsAlone) {
  const std::vector<AddedToken> tokens = {{.content = "cat", .id = 1, .single_word = true}};
  EXPECT_EQ(Cut(tokens, "cat, cats _cat cat"), "<1:cat>|, cats _cat |<1:cat>");
  EXPECT_EQ(Cut(tokens, "écat-cat"), "écat-|<1:cat>");
}

}  // namespace
}  // namespace ghost
