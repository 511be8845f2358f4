#include "kernels/attention/attention.h"

#include <limits>

#include "kernels/attention/attention_ref.h"
#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

struct Sequence {
  int64_t length, past;
};

// q, k and v side by side in one matrix at odd offsets, as a projection stores them.
struct Problem {
  Problem(AttentionShape s, std::vector<Sequence> sequences_in, uint64_t seed, double size = 1)
      : shape(s), sequences(std::move(sequences_in)) {
    Rng rng(seed);
    shape.scale = static_cast<float>(1.5 / std::sqrt(shape.head_dim));
    int64_t all_past = 0;
    for (const Sequence& sequence : sequences) T += sequence.length, all_past += sequence.past;
    wide = int64_t{shape.heads} * shape.head_dim, narrow = int64_t{shape.kv_heads} * shape.head_dim;
    qkv = RandomFloats(1 + T * Row(), rng, -size, size);
    past = RandomFloats(1 + 2 * all_past * narrow, rng, -size, size);
  }
  int64_t Row() const { return wide + 2 * narrow + 3; }
  ConstView Columns(int64_t first, int64_t count) const {
    return ConstView(qkv.data() + 1, T, Row(), Row()).Cols(first, count);
  }
  ConstView Q() const { return Columns(0, wide); }
  ConstView K() const { return Columns(wide, narrow); }
  ConstView V() const { return Columns(wide + narrow, narrow); }
  std::vector<AttentionSpan> Spans() const {
    std::vector<AttentionSpan> spans;
    const float* at = past.data() + 1;
    int64_t begin = 0;
    for (const auto& [length, count] : sequences) {
      spans.push_back({begin, length, count ? at : nullptr, count ? at + count * narrow : nullptr, count});
      at += 2 * count * narrow, begin += length;
    }
    return spans;
  }
  std::vector<float> Run(bool ref) const {
    std::vector<float> out(static_cast<size_t>(T * (wide + 1)), 7.0f);
    const View view(out.data(), T, wide, wide + 1);
    const std::vector<AttentionSpan> spans = Spans();
    if (ref) {
      std::vector<AttentionSpanRef<float>> same;
      for (const AttentionSpan& s : spans)
        same.push_back({s.begin, s.length, s.past_keys, s.past_values, s.past});
      CausalAttentionRef<float>(shape, Q(), K(), V(), same, view);
    } else {
      CausalAttention(shape, Q(), K(), V(), spans, view);
    }
    std::vector<float> packed;
    for (int64_t t = 0; t < T; ++t) {
      packed.insert(packed.end(), view.Row(t), view.Row(t) + wide);
      EXPECT_EQ(view.Row(t)[wide], 7.0f);  // the neighbouring columns are untouched
    }
    return packed;
  }

  AttentionShape shape;
  std::vector<Sequence> sequences;
  int64_t T = 0, wide = 0, narrow = 0;
  std::vector<float> qkv, past;
};

// Of the largest output. Measured: 6.8e-7, where head_dim is 5 and outputs are small; else below 2e-7.
constexpr double kTolerance = 1e-6;

void ExpectSame(const Problem& problem) { ExpectClose(problem.Run(true), problem.Run(false), kTolerance); }

TEST(CausalAttention, EveryHeadDimAgainstRef) {
  ForEachTarget([] {
    for (const int d : {1, 2, 3, 7, 8, 15, 16, 17, 33, 80, 160, 224, 256}) {
      SCOPED_TRACE(d);
      ExpectSame(Problem({2, 2, d}, {{19, 0}, {1, 21}, {3, 9}}, 1));
    }
  });
}

TEST(CausalAttention, LengthsAroundBlocks) {
  for (const int64_t L : {1, 2, 5, 6, 7, 63, 64, 65, 127, 128, 129, 255, 256, 257, 321}) {
    SCOPED_TRACE(L);
    ExpectSame(Problem({2, 1, 16}, {{L, 0}}, 2));
    for (const int64_t past : {1, 63, 64, 65, 127, 128, 130}) ExpectSame(Problem({2, 1, 5}, {{L, past}}, 3));
  }
}

TEST(CausalAttention, UnequalSequencesAndGroups) {
  ForEachTarget([] {
    for (const int kv_heads : {1, 2, 6}) {
      SCOPED_TRACE(kv_heads);
      ExpectSame(
          Problem({6, kv_heads, 20}, {{3, 0}, {0, 0}, {140, 70}, {1, 0}, {1, 100}, {2, 5}, {66, 0}}, 4));
    }
  });
}

// Sequences whose past is split into parts.
TEST(CausalAttention, SingleTokens) {
  ForEachTarget([] {
    ExpectSame(Problem({4, 2, 12}, {{1, 126}, {1, 127}, {1, 128}, {1, 129}, {1, 255}, {1, 600}, {1, 0}}, 5));
  });
}

TEST(CausalAttention, LargeScores) {
  ForEachTarget([] {
    const Problem problem({2, 2, 16}, {{150, 80}, {1, 150}}, 6, /*size=*/30);
    ExpectClose(problem.Run(true), problem.Run(false), 1e-4);  // measured 4e-5: scores of some 1000
  });
}

// Token by token from an empty cache against all tokens at once.
TEST(CausalAttention, StepsEqualPrefill) {
  const Problem whole({4, 2, 80}, {{150, 0}}, 7);
  const std::vector<float> expected = whole.Run(false);
  std::vector<float> actual = expected, keys, values;
  for (int64_t t = 0; t < 150; ++t) {
    const AttentionSpan span = {0, 1, t ? keys.data() : nullptr, t ? values.data() : nullptr, t};
    const ConstView q = whole.Q().Rows(t, 1), k = whole.K().Rows(t, 1), v = whole.V().Rows(t, 1);
    CausalAttention(whole.shape, q, k, v, {&span, 1}, View(actual.data() + t * 320, 1, 320));
    keys.insert(keys.end(), k.data, k.data + k.cols);
    values.insert(values.end(), v.data, v.data + v.cols);
  }
  ExpectClose(expected, actual, kTolerance);
}

TEST(CausalAttention, BatchChangesNothing) {
  const Problem both({2, 2, 24}, {{130, 0}, {1, 0}, {70, 0}}, 8);
  const std::vector<float> expected = both.Run(false);
  for (const AttentionSpan& span : both.Spans()) {
    std::vector<float> out(static_cast<size_t>(both.T * both.wide));
    CausalAttention(both.shape, both.Q(), both.K(), both.V(), {&span, 1},
                    View(out.data(), both.T, both.wide));
    for (int64_t i = span.begin * 48; i < (span.begin + span.length) * 48; ++i)
      ASSERT_EQ(out[static_cast<size_t>(i)], expected[static_cast<size_t>(i)]);
  }
}

TEST(CausalAttention, NanAndInfinityReachOnlyWhoSeesThem) {
  ForEachTarget([] {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Problem problem({1, 1, 16}, {{100, 3}, {5, 0}, {1, 20}}, 9);
      problem.qkv[static_cast<size_t>(1 + 70 * problem.Row() + 16)] = bad;  // a key of row 70
      problem.past[static_cast<size_t>(1 + 2 * 3 * 16)] = bad;              // one of the last sequence's past
      const std::vector<float> out = problem.Run(false);
      const auto finite = [&](int64_t t) { return std::isfinite(out[static_cast<size_t>(t * 16)]); };
      for (int64_t t = 0; t < 70; ++t) EXPECT_TRUE(finite(t)) << t;
      if (std::isnan(bad)) {
        for (int64_t t = 70; t < 100; ++t) EXPECT_FALSE(finite(t)) << t;
        EXPECT_FALSE(finite(105));
      }
      for (int64_t t = 100; t < 105; ++t) EXPECT_TRUE(finite(t)) << t;
    }
  });
}

TEST(CausalAttention, ThreadsChangeNothing) {
  const Problem problem({6, 3, 16}, {{150, 30}, {1, 90}, {40, 0}, {1, 5}}, 10);
  ExpectSameForAllThreadCounts([&] { return problem.Run(false); });
}

}  // namespace
}  // namespace ghost
