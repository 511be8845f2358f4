#include "serve/prefix_cache.h"

#include <gtest/gtest.h>

#include "tests/support/serve_testing.h"

namespace ghost {
namespace {

PrefixEntry Entry(std::vector<int32_t> tokens, bool logits = false) {
  PrefixEntry entry;
  entry.tokens = std::move(tokens);
  if (logits) entry.logits.assign(50, 1.0f);
  entry.state = std::make_unique<SequenceState>(TinyModel().config());
  return entry;
}

constexpr int64_t kPlenty = 1 << 30;

TEST(PrefixCache, FindsTheLongest) {
  PrefixCache cache(kPlenty);
  cache.Insert(Entry({1, 2}));
  cache.Insert(Entry({1, 2, 3, 4}));
  cache.Insert(Entry({1, 2, 9}));
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{1, 2, 3, 4, 5}), 4u);
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{1, 2, 3, 5}), 2u);
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{1, 2, 9, 9}), 3u);
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{2, 2}), 0u);
  EXPECT_EQ(cache.FindLength({}), 0u);
  EXPECT_EQ(cache.Find(std::vector<int32_t>{7}), nullptr);
}

// A whole prompt is of use only together with the logits of its last token.
TEST(PrefixCache, AWholePromptNeedsLogits) {
  PrefixCache cache(kPlenty);
  cache.Insert(Entry({1, 2, 3}));
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{1, 2, 3}), 0u);
  cache.Insert(Entry({1, 2, 3}, /*logits=*/true));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{1, 2, 3}), 3u);
}

TEST(PrefixCache, DropsTheLeastRecentlyUsed) {
  const int64_t one = Entry({0, 0}).bytes();
  PrefixCache cache(3 * one);
  for (int32_t i = 0; i < 3; ++i) cache.Insert(Entry({i, i}));
  cache.Find(std::vector<int32_t>{0, 0, 5});  // used
  const auto dropped = cache.Insert(Entry({3, 3}));
  EXPECT_EQ(dropped.size(), 1u);
  EXPECT_LE(cache.bytes(), cache.budget());
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{0, 0, 5}), 2u);
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{1, 1, 5}), 0u);
  EXPECT_EQ(cache.FindLength(std::vector<int32_t>{3, 3, 5}), 2u);
}

TEST(PrefixCache, RefusesWhatExceedsTheBudget) {
  PrefixCache cache(100);
  EXPECT_FALSE(cache.Wants(std::vector<int32_t>{1}, 101));
  EXPECT_EQ(cache.Insert(Entry({1})).size(), 1u);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.bytes(), 0);
}

TEST(PrefixCache, RemembersWherePromptsBranch) {
  PrefixCache cache(kPlenty);
  EXPECT_EQ(cache.BranchPoint(std::vector<int32_t>{1, 2, 3}), 0u);
  cache.Remember(std::vector<int32_t>{1, 2, 3, 4});
  cache.Remember(std::vector<int32_t>{1, 5});
  EXPECT_EQ(cache.BranchPoint(std::vector<int32_t>{1, 2, 9}), 2u);
  EXPECT_EQ(cache.BranchPoint(std::vector<int32_t>{1, 5, 9}), 2u);
  EXPECT_EQ(cache.BranchPoint(std::vector<int32_t>{4}), 0u);
}

}  // namespace
}  // namespace ghost
