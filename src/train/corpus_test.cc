#include "train/corpus.h"

#include <gtest/gtest.h>

#include <string>

#include "base/threads.h"

namespace ghost {
namespace {

TEST(CorpusCuts, StandBehindSeparatorsElseBetweenLines) {
  const std::string text = "one two\n\nthree\nfour <|endoftext|>five\nsix\n seven\neight";
  for (const size_t piece : {1u, 4u, 10u, 1000u}) {
    for (const size_t cut : CorpusCuts(text, piece)) {
      if (cut == 0) continue;
      const bool separator = cut >= 13 && text.substr(cut - 13, 13) == "<|endoftext|>";
      EXPECT_TRUE(separator || text[cut - 1] == '\n') << cut;
      EXPECT_NE(text[cut], ' ');
      EXPECT_NE(text[cut], '\n');
    }
  }
  EXPECT_EQ(CorpusCuts("", 4).size(), 1u);
  EXPECT_EQ(CorpusCuts(std::string(100, 'x'), 4).size(), 1u);  // nowhere to cut
}

TEST(EncodeCorpus, PiecesGiveTheTokensOfTheWhole) {
  const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/tiny-neox/tokenizer.json");
  std::string text;
  while (text.size() < (size_t{5} << 20)) {
    text += "The quick brown fox,\n\n  jumps over " + std::to_string(text.size()) + "\nlazy dogs.\n";
    if (text.size() % 7 == 0) text += "<|endoftext|>";
  }
  const std::vector<int32_t> whole = tokenizer.Encode(text);
  for (const int threads : {1, 2}) {
    SetThreads(threads);
    EXPECT_EQ(EncodeCorpus(tokenizer, text), whole) << threads;
  }
  SetThreads(0);
}

}  // namespace
}  // namespace ghost
