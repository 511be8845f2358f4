#include "text/tokenizer/unicode.h"

#include <gtest/gtest.h>

#include <string>

namespace ghost {
namespace {

using namespace std::string_literals;

TEST(Unicode, EveryCharacterSurvivesEncodingAndDecoding) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(code, text);
    ASSERT_FALSE(FindInvalidUtf8(text)) << static_cast<uint32_t>(code);
    ASSERT_EQ(DecodeChar(text.data()).code, code);
    ASSERT_EQ(DecodeChar(text.data()).length, static_cast<int>(text.size()));
    text = "x" + text;
    ASSERT_EQ(DecodeCharBefore(text.data() + text.size()).code, code);
  }
}

TEST(Unicode, ClassesOfNotableCharacters) {
  const auto char_class = [](char32_t code) { return CharFlags(code) & kCharClassMask; };
  for (char32_t code : {0x09, 0x0B, 0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x3000})
    EXPECT_EQ(char_class(code), kSpaceChar);
  for (char32_t code : {0x1C, 0x180E, 0x200B, 0xFEFF, 0x5F, 0x301, 0x10FFFF})
    EXPECT_EQ(char_class(code), kOtherChar);
  for (char32_t code : {0x41, 0xAA, 0x2B0, 0x4E2D, 0x1D400, 0x31350})
    EXPECT_EQ(char_class(code), kLetterChar);
  for (char32_t code : {0x30, 0xB2, 0xBD, 0x2167, 0x0663, 0x1F100}) EXPECT_EQ(char_class(code), kNumberChar);
  for (char32_t code : {0x5F, 0x301, 0x200D, 0x24B6, 0x61})
    EXPECT_TRUE(CharFlags(code) & kWordFlag) << static_cast<uint32_t>(code);
  for (char32_t code : {0x2D, 0x20, 0xB2, 0x1F600})
    EXPECT_FALSE(CharFlags(code) & kWordFlag) << static_cast<uint32_t>(code);
}

TEST(Unicode, FindsTheFirstBadByte) {
  struct Case {
    std::string bytes;
    std::optional<size_t> offset;
  };
  const Case cases[] = {
      {"", std::nullopt},
      {"plain ascii that is longer than a word", std::nullopt},
      {"é中🙂", std::nullopt},
      {"\x80", 0},
      {"twelve bytes\xFF", 12},
      {"\xC0\xAF", 0},              // overlong
      {"\xE0\x9F\xBF", 0},          // overlong
      {"\xED\xA0\x80", 0},          // surrogate
      {"\xF4\x90\x80\x80", 0},      // beyond U+10FFFF
      {"a\xE4\xB8", 1},             // truncated
      {"0123456789\xE4\xB8z", 10},  // truncated in the middle of the text
      {"nul\0nul"s, std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(FindInvalidUtf8(c.bytes), c.offset) << c.bytes;
}

TEST(Unicode, ReplacesMaximalIllFormedParts) {
  const auto lossy = [](std::string_view bytes) {
    std::string out;
    EXPECT_EQ(AppendLossyUtf8(bytes, /*final=*/true, out), bytes.size());
    return out;
  };
  EXPECT_EQ(lossy("aé"), "aé");
  EXPECT_EQ(lossy("\xE4\xB8"), "\uFFFD");  // one truncated character: one replacement
  EXPECT_EQ(lossy("\xF0\x9F\x99\xE4"), "\uFFFD\uFFFD");
  EXPECT_EQ(lossy("\xE0\x80x"), "\uFFFD\uFFFDx");  // 80 cannot follow E0
  EXPECT_EQ(lossy("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(lossy("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
}

TEST(Unicode, KeepsWhatMayStillBecomeACharacter) {
  std::string out;
  EXPECT_EQ(AppendLossyUtf8("ab\xF0\x9F\x99", /*final=*/false, out), 2u);
  EXPECT_EQ(out, "ab");
  out.clear();
  EXPECT_EQ(AppendLossyUtf8("\xF0\x41", /*final=*/false, out), 2u);
  EXPECT_EQ(out,
            "\uFFFD"
            "A");
}

}  // namespace
}  // namespace ghost
