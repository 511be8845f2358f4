#include "text/tokenizer/bpe.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/timer.h"
#include "text/tokenizer/byte_level.h"

namespace ghost {
namespace {

// Byte-level: tokens "a".."d", then those the merges create; ids in that order.
TokenizerSpec MakeSpec(const std::vector<std::pair<std::string, std::string>>& merges,
                       const std::string& alphabet) {
  TokenizerSpec spec;
  for (char c : alphabet) spec.vocab.push_back({std::string(1, c), static_cast<int32_t>(spec.vocab.size())});
  for (const auto& [left, right] : merges) {
    const VocabIndex known = MakeVocabIndex(spec.vocab);
    if (!known.contains(left + right))
      spec.vocab.push_back({left + right, static_cast<int32_t>(spec.vocab.size())});
  }
  const VocabIndex index = MakeVocabIndex(spec.vocab);
  for (const auto& [left, right] : merges) {
    spec.merges.push_back(ResolveMerge(index, left, right, spec.merges.size(), "test"));
  }
  return spec;
}

std::vector<int32_t> Encode(const TokenizerSpec& spec, std::string_view word, bool byte_level = true) {
  const BpeModel model(spec, byte_level);
  BpeSession session(model, word.size());
  std::vector<int32_t> ids;
  session.EncodeWord(word, ids);
  return ids;
}

// The definition: find the lowest rank, leftmost, merge, repeat.
std::vector<int32_t> EncodeRef(const TokenizerSpec& spec, std::string_view word) {
  const VocabIndex index = MakeVocabIndex(spec.vocab);
  std::vector<int32_t> ids;
  for (size_t i = 0; i < word.size(); ++i) ids.push_back(index.at(word.substr(i, 1)));
  while (true) {
    size_t best_rank = spec.merges.size(), best = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (spec.merges[rank].left == ids[i] && spec.merges[rank].right == ids[i + 1])
          best_rank = rank, best = i;
      }
    }
    if (best_rank == spec.merges.size()) return ids;
    ids[best] = spec.merges[best_rank].merged;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

const std::vector<std::pair<std::string, std::string>> kMerges = {{"a", "b"},   {"b", "c"},   {"ab", "c"},
                                                                  {"a", "a"},   {"aa", "aa"}, {"c", "d"},
                                                                  {"ab", "ab"}, {"d", "a"},   {"aaaa", "b"}};

// Lengths on both sides of the switch from the quadratic loop to the heap, and of the cache limit.
TEST(Bpe, EqualsTheDefinition) {
  const TokenizerSpec spec = MakeSpec(kMerges, "abcd");
  Rng rng(1);
  for (int length = 0; length < 160; ++length) {
    std::string word;
    for (int i = 0; i < length; ++i) word.push_back(static_cast<char>('a' + rng.Bits() % 4));
    ASSERT_EQ(Encode(spec, word), EncodeRef(spec, word)) << word;
    ASSERT_EQ(Encode(spec, std::string(length, 'a')), EncodeRef(spec, std::string(length, 'a')));
  }
}

TEST(Bpe, CacheGivesTheSameIdsAgain) {
  const TokenizerSpec spec = MakeSpec(kMerges, "abcd");
  const BpeModel model(spec, /*byte_level=*/true);
  BpeSession session(model, 0);  // the smallest cache, so that words evict each other
  Rng rng(2);
  std::vector<std::string> words;
  for (int i = 0; i < 300; ++i) {
    std::string word;
    for (uint64_t n = 1 + rng.Bits() % 12; n > 0; --n)
      word.push_back(static_cast<char>('a' + rng.Bits() % 4));
    words.push_back(word);
  }
  for (int i = 0; i < 3000; ++i) {
    const std::string& word = words[rng.Bits() % words.size()];
    std::vector<int32_t> ids;
    session.EncodeWord(word, ids);
    ASSERT_EQ(ids, EncodeRef(spec, word)) << word;
  }
}

TEST(Bpe, LongRunsAreNotQuadratic) {
  const TokenizerSpec spec = MakeSpec(kMerges, "abcd");
  const Timer timer;
  EXPECT_EQ(Encode(spec, std::string(1 << 20, 'a')).size(), size_t{1} << 18);
  EXPECT_LT(timer.Seconds(), 20.0);  // needs about 0.1 s; a quadratic loop would need minutes
}

TEST(Bpe, UnknownCharacters) {
  TokenizerSpec spec = MakeSpec({{"a", "b"}}, "ab");
  EXPECT_EQ(Encode(spec, "axb"), (std::vector<int32_t>{2}));  // vanishes without unk
  spec.vocab.push_back({"?", 9});
  spec.unk_id = 9;
  EXPECT_EQ(Encode(spec, "xxab", /*byte_level=*/false), (std::vector<int32_t>{9, 9, 2}));
  spec.fuse_unk = true;
  EXPECT_EQ(Encode(spec, "x中ab\n", /*byte_level=*/false), (std::vector<int32_t>{9, 2, 9}));
  spec.byte_fallback = true;
  spec.vocab.push_back({"<0x0A>", 10});
  EXPECT_EQ(Encode(spec, "x\na", /*byte_level=*/false),
            (std::vector<int32_t>{10, 9, 0}));  // bytes come before unk
}

TEST(Bpe, IgnoreMergesTakesWholeWords) {
  TokenizerSpec spec = MakeSpec({{"a", "b"}}, "abc");
  spec.vocab.push_back({"abc", 7});
  EXPECT_EQ(Encode(spec, "abc"), (std::vector<int32_t>{3, 2}));
  spec.ignore_merges = true;
  EXPECT_EQ(Encode(spec, "abc"), (std::vector<int32_t>{7}));
}

TEST(Bpe, MetaspaceIsABorderOnlyIfNoMergeCrossesIt) {
  TokenizerSpec spec;
  for (const char* token : {"▁", "a", "▁a", "a▁", "?"}) {
    spec.vocab.push_back({token, static_cast<int32_t>(spec.vocab.size())});
  }
  spec.unk_id = 4;
  spec.merges = {{0, 1, 2}};
  EXPECT_TRUE(BpeModel(spec, /*byte_level=*/false).metaspace_is_border());
  spec.unk_id = -1;  // "▁x▁" would become "▁▁"
  EXPECT_FALSE(BpeModel(spec, /*byte_level=*/false).metaspace_is_border());
  spec.unk_id = 4;
  spec.merges.push_back({1, 0, 3});
  EXPECT_FALSE(BpeModel(spec, /*byte_level=*/false).metaspace_is_border());
}

TEST(ByteLevel, StandInsAreABijection) {
  EXPECT_EQ(BytesToStandIns(" \n"), "ĠĊ");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    EXPECT_EQ(StandInsToBytes(BytesToStandIns(one)), one);
  }
  EXPECT_EQ(StandInsToBytes("a b"), std::nullopt);
  EXPECT_EQ(StandInsToBytes("中"), std::nullopt);
}

}  // namespace
}  // namespace ghost
