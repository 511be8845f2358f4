#include "text/stop_strings.h"

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

TEST(StopStrings, StreamsWhatNoLaterTokenCanTakeBack) {
  StopWatcher watcher(Bytes(), {"\nend", "\n\n"});
  std::string shown;
  for (const char c : std::string("a\nen\nb\u00e9\nend and more")) {
    const bool more = watcher.Push(static_cast<unsigned char>(c));
    const std::string piece = watcher.Take();
    EXPECT_EQ(piece.find("\nend"), std::string::npos);
    shown += piece;
    if (!more) break;
  }
  EXPECT_TRUE(watcher.stopped());
  EXPECT_EQ(shown, "a\nen\nb\u00e9");
  EXPECT_EQ(watcher.Finish(), shown);
  EXPECT_EQ(watcher.Take(), "");
}

TEST(StopStrings, WhatWasHeldBackComesAtTheEnd) {
  StopWatcher watcher(Bytes(), {"stop"});
  std::string shown;
  for (const char c : std::string("do not sto")) {
    EXPECT_TRUE(watcher.Push(static_cast<unsigned char>(c)));
    shown += watcher.Take();
  }
  EXPECT_EQ(shown, "do not ");
  watcher.Finish();
  EXPECT_EQ(watcher.Take(), "sto");
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
