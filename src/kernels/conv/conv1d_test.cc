#include "kernels/conv/conv1d.h"

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

struct Problem {
  Problem(int64_t channels, int width, std::vector<int64_t> sequence_lengths, uint64_t seed)
      : C(channels), W(width), lengths(std::move(sequence_lengths)) {
    Rng rng(seed);
    for (const int64_t length : lengths) T += length;
    in = RandomFloats(1 + T * (C + 3), rng, -2, 2);
    taps = RandomFloats(C * W, rng);
    bias = RandomFloats(C, rng);
    history = RandomFloats(static_cast<int64_t>(lengths.size()) * (W - 1) * C, rng);
  }
  // The output, then the history.
  std::vector<float> Run(bool ref, bool with_bias = true) const {
    std::vector<float> out(static_cast<size_t>(T * C)), conv = history;
    std::vector<SequenceSpan> spans;
    int64_t begin = 0;
    for (size_t s = 0; s < lengths.size(); ++s) {
      spans.push_back({begin, lengths[s], conv.data() + static_cast<int64_t>(s) * (W - 1) * C, nullptr});
      begin += lengths[s];
    }
    const ConvWeights weights = {taps.data(), with_bias ? bias.data() : nullptr, W};
    (ref ? CausalConvSiluRef : CausalConvSilu)(ConstView(in.data() + 1, T, C, C + 3), weights, spans,
                                               View(out.data(), T, C));
    out.insert(out.end(), conv.begin(), conv.end());
    return out;
  }
  int64_t C;
  int W;
  std::vector<int64_t> lengths;
  int64_t T = 0;
  std::vector<float> in, taps, bias, history;
};

TEST(CausalConvSilu, AgainstRef) {
  ForEachTarget([] {
    for (int W = 1; W <= 5; ++W) {
      for (const int64_t C : {1, 3, 7, 8, 9, 16, 31, 33, 64, 65, 130}) {
        const Problem p(C, W, {1, 0, 2, 33, 3, 1, 4}, static_cast<uint64_t>(C));
        ExpectClose(p.Run(true), p.Run(false), 5e-7);
        ExpectClose(p.Run(true, false), p.Run(false, false), 5e-7);
      }
    }
  });
}

TEST(CausalConvSilu, SplitSequenceIsBitEqual) {
  Problem whole(70, 4, {40}, 1);
  const std::vector<float> expected = whole.Run(false);
  std::vector<float> actual;
  int64_t begin = 0;
  Problem part = whole;
  for (const int64_t length : {1, 2, 17, 1, 19}) {
    part.lengths = {length};
    part.T = length;
    part.in.assign(whole.in.begin() + begin * 73, whole.in.begin() + 1 + (begin + length) * 73);
    const std::vector<float> out = part.Run(false);
    actual.insert(actual.end(), out.begin(), out.begin() + length * 70);
    part.history.assign(out.begin() + length * 70, out.end());
    begin += length;
  }
  actual.insert(actual.end(), part.history.begin(), part.history.end());
  EXPECT_EQ(expected, actual);
}

TEST(CausalConvSilu, SilentChannelIsExactlyZero) {
  Problem p(64, 4, {9}, 2);
  for (int w = 0; w < 4; ++w) p.taps[static_cast<size_t>(5 * 4 + w)] = 0;
  p.bias[5] = 0;
  ForEachTarget([&] {
    const std::vector<float> out = p.Run(false);
    for (size_t t = 0; t < 9; ++t) ASSERT_EQ(out[t * 64 + 5], 0.0f);
  });
}

TEST(CausalConvSilu, ThreadsChangeNothing) {
  const Problem p(300, 4, {20, 1, 1, 7}, 3);
  ExpectSameForAllThreadCounts([&] { return p.Run(false); });
}

}  // namespace
}  // namespace ghost
