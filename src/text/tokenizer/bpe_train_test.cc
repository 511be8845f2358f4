#include "text/tokenizer/bpe_train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/threads.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_json.h"

namespace ghost {
namespace {

using testing::ElementsAre;

// A text of invented words, with repeats, odd spaces and some characters beyond ASCII.
std::string SomeText(uint64_t seed, int words) {
  Rng rng(seed);
  std::string text;
  for (int i = 0; i < words; ++i) {
    const int length = 1 + static_cast<int>(rng.Bits() % 6);
    for (int j = 0; j < length; ++j) text += "abcdeé"[rng.Bits() % 5];
    static constexpr const char* kGaps[] = {" ", " ", " ", "\n", "  ", ", ", "'s ", "é ", "1 "};
    text += kGaps[rng.Bits() % 9];
  }
  return text;
}

std::map<std::string, int64_t> CountsOf(const std::string& text, const std::string& separator = "") {
  std::map<std::string, int64_t> counts;
  for (const WordCount& word : CountWords(text, separator)) counts[word.word] = word.count;
  return counts;
}

// The definition: recount all pairs before every merge. Returns the merges, spelt.
std::vector<std::string> SlowMerges(const std::vector<WordCount>& words, const BpeVocabulary& trained,
                                    size_t count) {
  std::map<std::string, int32_t> ids;
  for (size_t id = 0; id <= 256; ++id) ids[trained.tokens[id]] = static_cast<int32_t>(id);
  std::vector<std::string> spelt(trained.tokens.begin(), trained.tokens.begin() + 257);
  std::vector<std::vector<int32_t>> symbols;
  for (const WordCount& word : words) {
    symbols.emplace_back();
    for (const char c : word.word) symbols.back().push_back(ids[BytesToStandIns({&c, 1})]);
  }
  std::vector<std::string> merges;
  while (merges.size() < count) {
    std::map<std::pair<int32_t, int32_t>, int64_t> pairs;
    for (size_t w = 0; w < words.size(); ++w) {
      for (size_t i = 1; i < symbols[w].size(); ++i)
        pairs[{symbols[w][i - 1], symbols[w][i]}] += words[w].count;
    }
    std::pair<int32_t, int32_t> best;
    int64_t most = 1;
    for (const auto& [pair, n] : pairs) {
      if (n > most) std::tie(best, most) = std::pair(pair, n);
    }
    if (most < 2) break;
    const std::string merged = spelt[best.first] + spelt[best.second];
    const auto [place, is_new] = ids.try_emplace(merged, static_cast<int32_t>(spelt.size()));
    if (is_new) spelt.push_back(merged);
    merges.push_back(spelt[best.first] + " " + spelt[best.second]);
    for (std::vector<int32_t>& word : symbols) {
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] != best.first || word[i + 1] != best.second) continue;
        word[i] = place->second;
        word.erase(word.begin() + static_cast<ptrdiff_t>(i) + 1);
      }
    }
  }
  return merges;
}

std::vector<std::string> SpeltMerges(const BpeVocabulary& vocabulary) {
  std::vector<std::string> merges;
  for (const auto& [left, right] : vocabulary.merges)
    merges.push_back(vocabulary.tokens[left] + " " + vocabulary.tokens[right]);
  return merges;
}

TEST(WordCounts, AreThoseOfTheSplitter) {
  EXPECT_EQ(CountsOf("a b a\n\n a's"),
            (std::map<std::string, int64_t>{{"a", 1}, {" b", 1}, {" a", 2}, {"\n\n", 1}, {"'s", 1}}));
  EXPECT_TRUE(CountsOf("").empty());
}

TEST(WordCounts, TheSeparatorIsNoWord) {
  EXPECT_EQ(CountsOf("<eot>one<eot><eot>two three<eot>", "<eot>"),
            (std::map<std::string, int64_t>{{"one", 1}, {"two", 1}, {" three", 1}}));
}

TEST(WordCounts, TextIsNormalised) {
  EXPECT_EQ(CountsOf("e\u0301"), (std::map<std::string, int64_t>{{"\u00E9", 1}}));
}

// More than one piece, to show that splitting and joining change nothing.
TEST(WordCounts, PiecesAndThreadsChangeNothing) {
  const std::string once = SomeText(3, 60000) + "x\ny";
  std::string text;
  while (text.size() < (size_t{9} << 20)) text += once;
  const auto copies = static_cast<int64_t>(text.size() / once.size());
  ASSERT_GT(copies, 1);
  // The seam "y" + first word of the next copy is the only difference, so the expectation counts two copies.
  const auto one = CountsOf(once), two = CountsOf(once + once);
  SetThreads(1);
  const auto serial = CountsOf(text);
  SetThreads(0);
  EXPECT_EQ(CountsOf(text), serial);
  for (const auto& [word, n] : serial) {
    const auto in = [&word = word](const auto& counts) {
      return counts.contains(word) ? counts.at(word) : 0;
    };
    EXPECT_EQ(n, in(one) + (copies - 1) * (in(two)-in(one))) << word;
  }
}

TEST(BpeTrain, MergesTheMostFrequentPairFirst) {
  const std::vector<WordCount> words = {{"ab", 5}, {"abc", 4}, {"bc", 3}};
  const BpeVocabulary v = TrainBpe(words, "<s>", 300);
  EXPECT_EQ(v.tokens[0], "<s>");
  EXPECT_EQ(v.tokens[1], "!");
  EXPECT_THAT(SpeltMerges(v), ElementsAre("a b", "ab c", "b c"));  // 9, then 4 (of 7, 3 are left for b c)
  EXPECT_EQ(v.tokens.size(), 260u);
}

TEST(BpeTrain, EqualCountsGoByIdAndRareMergesAreLeft) {
  const std::vector<WordCount> words = {{"cd", 2}, {"ab", 2}, {"xy", 1}};
  EXPECT_THAT(SpeltMerges(TrainBpe(words, "<s>", 300)), ElementsAre("a b", "c d"));
}

TEST(BpeTrain, RunsOfOneLetterCountRight) {
  const std::vector<WordCount> words = {{"aaaaaaa", 3}, {"aaa", 2}, {"baab", 4}};
  const BpeVocabulary v = TrainBpe(words, "<s>", 300);
  EXPECT_EQ(SpeltMerges(v), SlowMerges(words, v, v.merges.size() + 1));
}

TEST(BpeTrain, EqualsTheDefinition) {
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<WordCount> words = CountWords(SomeText(seed, 700), "");
    const BpeVocabulary v = TrainBpe(words, "<s>", 257 + 150);
    ASSERT_GE(v.merges.size(), 150u);
    EXPECT_EQ(SpeltMerges(v), SlowMerges(words, v, v.merges.size())) << seed;
  }
}

TEST(BpeTrain, AnEmptyCorpusGivesTheBytes) {
  const BpeVocabulary v = TrainBpe({}, "<s>", 300);
  EXPECT_EQ(v.tokens.size(), 257u);
  EXPECT_TRUE(v.merges.empty());
}

TEST(BpeTrain, BadSizesAreRefused) {
  EXPECT_THROW(TrainBpe({}, "<s>", 256), Error);
  EXPECT_THROW(TrainBpe({}, "<s>", -1), Error);
  EXPECT_THROW(TrainBpe({}, "<s>", kMaxBpeVocabSize + 1), Error);
}

TEST(BpeTrain, TheFilesAreReadByOurTokenizer) {
  const std::string text = SomeText(5, 500);
  const BpeVocabulary v = TrainBpe(CountWords(text, ""), "<|endoftext|>", 350);
  TokenizerSpec spec = ParseTokenizerJson(MakeTokenizerJson(v), "tokenizer.json");
  ApplyTokenizerConfig(MakeTokenizerConfigJson(v), "tokenizer_config.json", spec);
  const Tokenizer tokenizer(std::move(spec));
  EXPECT_EQ(tokenizer.vocab_size(), 350);
  EXPECT_EQ(tokenizer.eos_id(), 0);
  EXPECT_EQ(tokenizer.bos_id(), 0);
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_THAT(tokenizer.Encode("<|endoftext|>"), ElementsAre(0));
  const std::vector<int32_t> ids = tokenizer.Encode(text);
  EXPECT_LT(ids.size(), text.size() * 3 / 4);
  EXPECT_EQ(static_cast<int64_t>(ids.size()), v.corpus_tokens);
  EXPECT_EQ(tokenizer.Decode(ids), text);
  const std::string all = "\"quoted\" \\ tab\t \u4E2D\u6587 \U0001F600 <|endoftext|>";
  EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(all)), all);
}

}  // namespace
}  // namespace ghost
