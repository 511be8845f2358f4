#include "kernels/attention/attention_backward.h"

#include "kernels/attention/attention_ref.h"
#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

// Rows of q, k and v, and of their gradients, are stored side by side at odd offsets. T is float, or
// double for the reference.
template <class T>
struct Problem {
  Problem(AttentionShape s, std::vector<int64_t> lengths, uint64_t seed) : shape(s) {
    Rng rng(seed);
    shape.scale = static_cast<float>(1.5 / std::sqrt(shape.head_dim));
    for (const int64_t length : lengths) {
      spans.push_back({rows, length});
      spans_ref.push_back({rows, length});
      rows += length;
    }
    wide = int64_t{shape.heads} * shape.head_dim, narrow = int64_t{shape.kv_heads} * shape.head_dim;
    stride = wide + 2 * narrow + 3;
    for (int64_t i = 0; i < 1 + rows * stride; ++i) qkv.push_back(static_cast<T>(rng.Uniform(-1, 1)));
    for (int64_t i = 0; i < rows * wide; ++i) dout.push_back(static_cast<T>(rng.Uniform(-1, 1)));
  }
  template <class U>
  MatrixView<U> Part(U* all, int part) const {
    const MatrixView<U> view(all + 1, rows, stride, stride);
    return part == 0 ? view.Cols(0, wide) : view.Cols(wide + (part - 1) * narrow, narrow);
  }
  MatrixView<const T> In(int part) const { return Part<const T>(qkv.data(), part); }
  MatrixView<const T> Dout() const { return {dout.data(), rows, wide}; }

  std::vector<T> ForwardRef() const {
    std::vector<T> out(dout.size());
    CausalAttentionRef<T>(shape, In(0), In(1), In(2), spans_ref, {out.data(), rows, wide});
    return out;
  }
  // The gradients in the layout of q, k and v, with 7 in the gaps.
  std::vector<T> BackwardRef() const {
    std::vector<T> all(qkv.size(), T{7});
    CausalAttentionBackwardRef<T>(shape, In(0), In(1), In(2), Dout(), spans_ref, Part(all.data(), 0),
                                  Part(all.data(), 1), Part(all.data(), 2));
    return all;
  }

  AttentionShape shape;
  std::vector<AttentionSpan> spans;
  std::vector<AttentionSpanRef<T>> spans_ref;
  int64_t rows = 0, wide = 0, narrow = 0, stride = 0;
  std::vector<T> qkv, dout;
};

std::vector<float> Backward(const Problem<float>& p) {
  std::vector<float> all(p.qkv.size(), 7.0f), out(p.dout.size());
  CausalAttention(p.shape, p.In(0), p.In(1), p.In(2), p.spans, View(out.data(), p.rows, p.wide));
  CausalAttentionBackward(p.shape,
                          {p.In(0), p.In(1), p.In(2), ConstView(out.data(), p.rows, p.wide), p.Dout()},
                          p.spans, {p.Part(all.data(), 0), p.Part(all.data(), 1), p.Part(all.data(), 2)});
  return all;
}

// Relative to each of the three gradients' largest value. Measured: 1.0e-6.
void ExpectSame(const Problem<float>& problem, double tolerance = 2e-6) {
  const std::vector<float> expected = problem.BackwardRef(), actual = Backward(problem);
  for (int part = 0; part < 3; ++part) {
    SCOPED_TRACE(part);
    const auto pack = [&](const std::vector<float>& all) {
      const ConstView view = problem.Part<const float>(all.data(), part);
      std::vector<float> values;
      for (int64_t t = 0; t < view.rows; ++t)
        values.insert(values.end(), view.Row(t), view.Row(t) + view.cols);
      return values;
    };
    ExpectClose(pack(expected), pack(actual), tolerance);
  }
  for (int64_t t = 0; t <= problem.rows; ++t)  // the gap before every row is untouched
    EXPECT_EQ(actual[static_cast<size_t>(t * problem.stride)], 7.0f);
}

TEST(CausalAttentionBackward, EveryHeadDimAgainstRef) {
  ForEachTarget([] {
    for (const int d : {1, 2, 3, 7, 8, 16, 17, 33, 80, 160, 224}) {
      SCOPED_TRACE(d);
      ExpectSame(Problem<float>({2, 2, d}, {19, 2}, 1));
    }
  });
}

TEST(CausalAttentionBackward, LengthsAroundBlocks) {
  for (const int64_t L : {2, 5, 6, 7, 63, 64, 65, 127, 128, 129, 200}) {
    SCOPED_TRACE(L);
    ExpectSame(Problem<float>({1, 1, 16}, {L}, 2));
    ExpectSame(Problem<float>({2, 1, 5}, {L}, 3));
  }
}

TEST(CausalAttentionBackward, UnequalSequencesAndGroups) {
  ForEachTarget([] {
    for (const int kv_heads : {1, 2, 6}) {
      SCOPED_TRACE(kv_heads);
      ExpectSame(Problem<float>({6, kv_heads, 20}, {3, 0, 130, 1, 66}, 4));
    }
  });
}

// A single token attends only to itself.
TEST(CausalAttentionBackward, OneToken) {
  const Problem<float> problem({2, 1, 4}, {1}, 5);
  const std::vector<float> all = Backward(problem);
  for (size_t i = 0; i < 8 + 4; ++i) EXPECT_NEAR(all[1 + i], 0, 1e-6) << i;
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(all[13 + i], problem.dout[i] + problem.dout[4 + i], 1e-6) << i;
}

TEST(CausalAttentionBackward, RefAgainstFiniteDifferences) {
  Problem<double> problem({4, 2, 3}, {5, 3}, 6);
  const std::vector<double> gradients = problem.BackwardRef();
  const auto loss = [&] {
    const std::vector<double> out = problem.ForwardRef();
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += out[i] * problem.dout[i];
    return sum;
  };
  for (size_t i = 0; i < problem.qkv.size(); ++i) {
    if (gradients[i] == 7) continue;  // a gap
    const double value = problem.qkv[i], step = 1e-5;
    problem.qkv[i] = value + step;
    const double above = loss();
    problem.qkv[i] = value - step;
    const double below = loss();
    problem.qkv[i] = value;
    EXPECT_NEAR((above - below) / (2 * step), gradients[i], 1e-9) << i;
  }
}

TEST(CausalAttentionBackward, ThreadsChangeNothing) {
  const Problem<float> problem({6, 3, 16}, {150, 1, 40}, 7);
  ExpectSameForAllThreadCounts([&] { return Backward(problem); });
}

}  // namespace
}  // namespace ghost
