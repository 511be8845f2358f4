#include "kernels/rows/scale.h"

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

// One product per value, so the expected values are exact. Input and output are strided, start one float off
// an aligned address, and the floats between the rows must not change.
TEST(ScaleRows, EverySize) {
  Rng rng(1);
  for (int64_t C = 0; C <= 35; ++C) {
    const int64_t T = 3, stride = C + 2;
    const std::vector<float> in = RandomFloats(1 + T * stride, rng);
    std::vector<float> expected = in, expected_apart(in.size(), 7.0f), actual = in, apart = expected_apart;
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t c = 0; c < C; ++c) {
        const auto i = static_cast<size_t>(1 + t * stride + c);
        expected[i] = expected_apart[i] = -0.3f * in[i];
      }
    }
    const View view(actual.data() + 1, T, C, stride);
    ScaleRows(view, -0.3f, View(apart.data() + 1, T, C, stride));
    EXPECT_EQ(apart, expected_apart);
    ScaleRows(view, -0.3f, view);
    EXPECT_EQ(actual, expected);
  }
}

TEST(ScaleColumns, EverySize) {
  Rng rng(2);
  for (int64_t C = 0; C <= 35; ++C) {
    const int64_t T = 3, stride = C + 2;
    const std::vector<float> in = RandomFloats(1 + T * stride, rng), factors = RandomFloats(C + 1, rng);
    std::vector<float> expected = in, expected_apart(in.size(), 7.0f), actual = in, apart = expected_apart;
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t c = 0; c < C; ++c) {
        const auto i = static_cast<size_t>(1 + t * stride + c);
        expected[i] = expected_apart[i] = factors[static_cast<size_t>(c + 1)] * in[i];
      }
    }
    const View view(actual.data() + 1, T, C, stride);
    ScaleColumns(view, factors.data() + 1, View(apart.data() + 1, T, C, stride));
    EXPECT_EQ(apart, expected_apart);
    ScaleColumns(view, factors.data() + 1, view);
    EXPECT_EQ(actual, expected);
  }
}

TEST(ScaleRows, ThreadsChangeNothing) {
  Rng rng(3);
  const int64_t T = 700, C = 301;
  const std::vector<float> in = RandomFloats(T * C, rng), factors = RandomFloats(C, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out(in.size());
    ScaleRows(ConstView(in.data(), T, C), 1.7f, View(out.data(), T, C));
    ScaleColumns(View(out.data(), T, C), factors.data(), View(out.data(), T, C));
    return out;
  });
}

}  // namespace
}  // namespace ghost
