#include "text/corpus/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "text/corpus/recall_words.h"

namespace ghost {
namespace {

constexpr uint32_t kDocuments = 600;

RecallDocument Document(uint32_t index, RecallSplit split = RecallSplit::kTrain) {
  return MakeRecallDocument(RecallSeed(split, 0, index));
}

// FNV-1a, 64 bits.
uint64_t Hash(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

TEST(Recall, AnswersStandWhereTheyShouldAndWereSaidBefore) {
  for (uint32_t i = 0; i < kDocuments; ++i) {
    const RecallDocument d = Document(i);
    ASSERT_FALSE(d.queries.empty()) << i;
    size_t last = 0;
    for (const RecallQuery& q : d.queries) {
      ASSERT_EQ(d.text.substr(q.offset, q.answer.size()), q.answer) << i;
      ASSERT_EQ(d.text.substr(q.source, q.answer.size()), q.answer) << i;
      ASSERT_LE(q.source + q.answer.size(), q.offset) << i;
      ASSERT_EQ(q.answer.front(), ' ');
      ASSERT_EQ(d.text[q.offset + q.answer.size()], '.');
      ASSERT_GT(q.offset, last);
      last = q.offset;
    }
  }
}

// The context alone determines the answer: the text before one answer of a list or line never
// precedes another answer.
TEST(Recall, AKeyHasOneValue) {
  for (uint32_t i = 0; i < kDocuments; ++i) {
    const RecallDocument d = Document(i);
    std::map<std::string, std::string> answers;
    for (const RecallQuery& q : d.queries) {
      const size_t begin = d.text.rfind(". ", q.offset) + 1;
      const std::string question = d.text.substr(begin, q.offset - begin);
      const auto [place, is_new] = answers.emplace(question, q.answer);
      ASSERT_EQ(place->second, q.answer) << d.text;
    }
    ASSERT_LE(answers.size(), static_cast<size_t>(d.pairs));
  }
}

TEST(Recall, KindsLengthsAndNumbersOfPairsAreAllThere) {
  std::map<RecallKind, int> kinds;
  std::set<int> pairs;
  size_t shortest = 1 << 20, longest = 0, nearest = 1 << 20, farthest = 0;
  for (uint32_t i = 0; i < kDocuments; ++i) {
    const RecallDocument d = Document(i);
    ++kinds[d.kind];
    if (d.kind == RecallKind::kPairs) pairs.insert(d.pairs);
    shortest = std::min(shortest, d.text.size());
    longest = std::max(longest, d.text.size());
    for (const RecallQuery& q : d.queries) {
      nearest = std::min(nearest, q.distance());
      farthest = std::max(farthest, q.distance());
    }
    for (const char c : d.text) ASSERT_TRUE(c >= ' ' && c < 0x7F);
  }
  EXPECT_NEAR(kinds[RecallKind::kPairs], kDocuments / 2, kDocuments / 12);
  EXPECT_NEAR(kinds[RecallKind::kCopy], kDocuments / 4, kDocuments / 12);
  EXPECT_THAT(pairs, testing::IsSupersetOf({2, 3, 4, 6, 8, 12, 16, 24, 32}));
  EXPECT_LE(longest, kRecallBytes);
  EXPECT_GT(longest, kRecallBytes * 9 / 10);
  EXPECT_LT(shortest, kRecallBytes * 2 / 3);
  EXPECT_LT(nearest, 30u);
  EXPECT_GT(farthest, kRecallBytes * 3 / 4);
}

TEST(Recall, ShortLimitsHold) {
  for (uint32_t i = 0; i < kDocuments; ++i) {
    const RecallDocument d = MakeRecallDocument(RecallSeed(RecallSplit::kTrain, 1, i), kMinRecallBytes);
    ASSERT_LE(d.text.size(), kMinRecallBytes);
    ASSERT_FALSE(d.queries.empty()) << d.text;
  }
}

TEST(Recall, TrainAndHeldOutAreApart) {
  EXPECT_EQ(RecallSeed(RecallSplit::kTrain, kMaxRecallSeed, UINT32_MAX) >> 63, 0u);
  EXPECT_EQ(RecallSeed(RecallSplit::kHeldOut, 0, 0) >> 63, 1u);
  std::set<std::string> texts;
  for (uint32_t i = 0; i < kDocuments; ++i) {
    EXPECT_TRUE(texts.insert(Document(i).text).second);
    EXPECT_TRUE(texts.insert(Document(i, RecallSplit::kHeldOut).text).second);
  }
}

// Documents are part of published results: a change of the generator must make this test fail.
TEST(Recall, IsReproducible) {
  EXPECT_EQ(Document(7).text, Document(7).text);
  EXPECT_EQ(Hash(Document(0).text), 10926552753255146740u);
  EXPECT_EQ(Hash(Document(0, RecallSplit::kHeldOut).text), 10647262151308945565u);
  std::string all;
  for (uint32_t i = 0; i < 100; ++i) all += Document(i).text;
  EXPECT_EQ(Hash(all), 18098300839387489637u);
}

TEST(RecallWords, AreDistinct) {
  for (const WordList list : {kKeyWords, kValueWords, kPeople, kStreets, kTowns, kTrades, kFillerNouns,
                              kFillerKinds, kFillerDeeds, kFillerPlaces}) {
    EXPECT_EQ(std::set<std::string_view>(list.begin(), list.end()).size(), list.size());
  }
  for (const std::string_view key : kKeyWords) EXPECT_EQ(std::ranges::count(kValueWords, key), 0) << key;
}

}  // namespace
}  // namespace ghost
