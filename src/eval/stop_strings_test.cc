#include "eval/stop_strings.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

const Tokenizer& Bytes() {
  static const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  return tokenizer;
}

// Feeds a text byte by byte, so that every stop string straddles tokens; gives what is kept and how much was
// read.
std::pair<std::string, int> Watch(const std::string& text, const std::vector<std::string>& stops) {
  StopWatcher watcher(Bytes(), stops);
  int read = 0;
  for (const char c : text) {
    ++read;
    if (!watcher.Push(static_cast<unsigned char>(c))) break;
  }
  return {watcher.Finish(), read};
}

TEST(StopStrings, CutBeforeTheFirstAndStopReading) {
  EXPECT_EQ(Watch("  x\ndef y", {"\nclass", "\ndef"}), std::make_pair(std::string("  x"), 7));
  EXPECT_EQ(Watch("a\nde\ndef", {"\ndef"}), std::make_pair(std::string("a\nde"), 8));
  EXPECT_EQ(Watch("nothing", {"\ndef"}), std::make_pair(std::string("nothing"), 7));
  EXPECT_EQ(Watch("\n#", {"\n#"}).first, "");
}

TEST(StopStrings, TheEarlierOfTwoThatEndTogether) {
  EXPECT_EQ(Watch("xabc", {"bc", "abc"}).first, "x");
  EXPECT_EQ(Watch("xabc", {"", "bc"}).first, "xa");
}

TEST(StopStrings, CharactersOfSeveralTokens) {
  EXPECT_EQ(Watch("é→\nif", {"\nif"}).first, "é→");
  EXPECT_EQ(Watch("a→b", {"→"}).first, "a");
  EXPECT_EQ(Watch(std::string("a\xE2\x86"), {"→"}).first, "a\uFFFD");  // cut off: shown as Decode shows it
}

TEST(StopStrings, ATokenMayHoldMoreThanTheStop) {
  const Tokenizer neox = LoadTokenizer("tests/fixtures/tiny-neox");
  const std::vector<int32_t> ids = neox.Encode("the the");
  ASSERT_LT(ids.size(), 7u);
  StopWatcher watcher(neox, {"h"});
  EXPECT_FALSE(watcher.Push(ids[0]) && watcher.Push(ids[1]) && ids.size() > 1);
  EXPECT_EQ(watcher.Finish(), "t");
}

}  // namespace
}  // namespace ghost
