#include "text/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

std::string Cut(std::vector<PreTokenizerStep> steps, std::string_view text, bool at_start = true) {
  std::deque<std::string> storage;
  std::string out;
  for (std::string_view word : PreTokenizer(std::move(steps), "test").Split(text, at_start, storage)) {
    if (!out.empty()) out += "|";
    out += word;
  }
  return out;
}

PreTokenizerStep Split(SplitBehavior behavior, bool invert = false) {
  PreTokenizerStep step{.kind = PreTokenizerKind::kSplit};
  step.pattern.text = "-";
  step.behavior = behavior;
  step.invert = invert;
  return step;
}

PreTokenizerStep Metaspace(PrependScheme scheme, bool split) {
  PreTokenizerStep step{.kind = PreTokenizerKind::kMetaspace};
  step.replacement = "_";
  step.prepend_scheme = scheme;
  step.split = split;
  return step;
}

// The example of the reference documentation.
TEST(PreTokenizer, SplitBehaviors) {
  constexpr char kText[] = "the-final--countdown";
  EXPECT_EQ(Cut({Split(SplitBehavior::kRemoved)}, kText), "the|final|countdown");
  EXPECT_EQ(Cut({Split(SplitBehavior::kIsolated)}, kText), "the|-|final|-|-|countdown");
  EXPECT_EQ(Cut({Split(SplitBehavior::kMergedWithPrevious)}, kText), "the-|final-|-|countdown");
  EXPECT_EQ(Cut({Split(SplitBehavior::kMergedWithNext)}, kText), "the|-final|-|-countdown");
  EXPECT_EQ(Cut({Split(SplitBehavior::kContiguous)}, kText), "the|-|final|--|countdown");
  EXPECT_EQ(Cut({Split(SplitBehavior::kRemoved, /*invert=*/true)}, kText), "-|-|-");
}

TEST(PreTokenizer, MetaspaceSchemes) {
  EXPECT_EQ(Cut({Metaspace(PrependScheme::kFirst, false)}, "a b"), "_a_b");
  EXPECT_EQ(Cut({Metaspace(PrependScheme::kFirst, false)}, " a b"), "_a_b");
  EXPECT_EQ(Cut({Metaspace(PrependScheme::kFirst, false)}, "a b", /*at_start=*/false), "a_b");
  EXPECT_EQ(Cut({Metaspace(PrependScheme::kAlways, false)}, "a b", /*at_start=*/false), "_a_b");
  EXPECT_EQ(Cut({Metaspace(PrependScheme::kNever, false)}, "a b"), "a_b");
  EXPECT_EQ(Cut({Metaspace(PrependScheme::kAlways, true)}, "a b  c"), "_a|_b|_|_c");
  EXPECT_EQ(Cut({Metaspace(PrependScheme::kAlways, true)}, ""), "");
}

TEST(PreTokenizer, ByteLevelAndDigits) {
  EXPECT_EQ(Cut({{.kind = PreTokenizerKind::kByteLevel}}, "a b1"), "a| b|1");
  EXPECT_EQ(Cut({{.kind = PreTokenizerKind::kByteLevel, .add_prefix_space = true}}, "a b"), " a| b");
  EXPECT_EQ(Cut({{.kind = PreTokenizerKind::kByteLevel, .use_regex = false}}, "a b"), "a b");
  EXPECT_EQ(Cut({{.kind = PreTokenizerKind::kDigits}}, "a12b"), "a|12|b");
  PreTokenizerStep single{.kind = PreTokenizerKind::kDigits};
  single.individual_digits = true;
  EXPECT_EQ(Cut({single}, "a12b"), "a|1|2|b");
  EXPECT_EQ(Cut({single, {.kind = PreTokenizerKind::kByteLevel}}, "it's 12"), "it|'s| |1|2");
}

}  // namespace
}  // namespace ghost
