#include "kernels/norm/norm.h"

#include <algorithm>

#include "kernels/kernel_testing.h"
#include "kernels/rows/silu_gate.h"

namespace ghost {
namespace {

TEST(RmsNorm, EverySizeAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (int64_t M = 1; M <= 70; ++M) {
      const std::vector<float> x = RandomFloats(1 + 3 * (M + 2), rng, -3, 3), weight = RandomFloats(M, rng);
      const ConstView in(x.data() + 1, 3, M, M + 2);
      std::vector<float> expected(static_cast<size_t>(3 * M)), actual(expected.size());
      RmsNormRef(in, weight.data(), 1e-5f, View(expected.data(), 3, M));
      RmsNorm(in, weight.data(), 1e-5f, View(actual.data(), 3, M));
      ExpectClose(expected, actual, 5e-7);
    }
  });
}

TEST(RmsNorm, InPlaceAndThreads) {
  Rng rng(2);
  const int64_t T = 33, M = 768;
  const std::vector<float> x = RandomFloats(T * M, rng), weight = RandomFloats(M, rng);
  std::vector<float> expected(x.size());
  RmsNormRef(ConstView(x.data(), T, M), weight.data(), 1e-5f, View(expected.data(), T, M));
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out = x;
    const View view(out.data(), T, M);
    RmsNorm(view, weight.data(), 1e-5f, view);
    ExpectClose(expected, out, 5e-7);
    return out;
  });
}

TEST(GatedRmsNorm, EverySizeAgainstRef) {
  Rng rng(3);
  ForEachTarget([&] {
    for (const int groups : {1, 2, 4}) {
      for (int64_t part = 1; part <= 35; ++part) {
        const int64_t T = 4, R = groups * part;
        const std::vector<float> y = RandomFloats(T * R, rng),
                                 z = RandomFloats(1 + T * (R + 7), rng, -12, 12),
                                 weight = RandomFloats(R, rng);
        const ConstView gate(z.data() + 1, T, R, R + 7);
        std::vector<float> expected = y, actual = y;
        GatedRmsNormRef(View(expected.data(), T, R), gate, weight.data(), 1e-5f, groups);
        GatedRmsNorm(View(actual.data(), T, R), gate, weight.data(), 1e-5f, groups);
        ExpectClose(expected, actual, 1e-6);
      }
    }
  });
}

// One value per row, of which the norm leaves only sign and weight: compares SiLU itself
// over its whole range.
TEST(GatedRmsNorm, GateAccuracy) {
  const int64_t T = 4001;
  std::vector<float> y(T, 1.0f), z(T), expected(T);
  for (int64_t t = 0; t < T; ++t) z[static_cast<size_t>(t)] = static_cast<float>(t - 2000) * 0.05f;
  const float weight = 1.0f;
  ForEachTarget([&] {
    // A huge eps makes the norm a division by 1e8, which preserves relative errors.
    std::vector<float> actual = y;
    GatedRmsNorm(View(actual.data(), T, 1), ConstView(z.data(), T, 1), &weight, 1e16f, 1);
    for (int64_t t = 0; t < T; ++t) {
      const double v = z[static_cast<size_t>(t)], silu = v / (1 + std::exp(-v)) * 1e-8;
      const double floor = v < -60 ? 1e-30 : 0;  // denormal after the scaling
      ASSERT_NEAR(actual[static_cast<size_t>(t)], silu, 4e-7 * std::fabs(silu) + floor) << v;
    }
  });
}

// z starts one float off an aligned address. `out` is y, and a strided view with floats between its rows that
// must not change.
TEST(RmsNormThenGate, EverySizeAgainstRef) {
  Rng rng(4);
  ForEachTarget([&] {
    for (const int groups : {1, 2, 4}) {
      for (int64_t part = 1; part <= 35; ++part) {
        const int64_t T = 4, R = groups * part;
        const std::vector<float> y = RandomFloats(T * R, rng),
                                 z = RandomFloats(1 + T * (R + 7), rng, -12, 12),
                                 weight = RandomFloats(R, rng);
        const ConstView value(y.data(), T, R), gate(z.data() + 1, T, R, R + 7);
        std::vector<float> expected(y.size()), actual = y, apart(static_cast<size_t>(1 + T * (R + 3)), 7.0f);
        RmsNormThenGateRef(value, gate, weight.data(), 1e-5f, groups, View(expected.data(), T, R));
        const View same(actual.data(), T, R), strided(apart.data() + 1, T, R, R + 3);
        RmsNormThenGate(same, gate, weight.data(), 1e-5f, groups, same);
        ExpectClose(expected, actual, 1e-6);
        RmsNormThenGate(value, gate, weight.data(), 1e-5f, groups, strided);
        for (int64_t t = 0; t < T; ++t) {
          EXPECT_TRUE(std::equal(strided.Row(t), strided.Row(t) + R, same.Row(t)));
          for (int64_t r = R; r < R + 3; ++r) EXPECT_EQ(strided.Row(t)[r], 7.0f);
        }
        EXPECT_EQ(apart[0], 7.0f);
      }
    }
  });
}

// One norm and one SiLU everywhere: the norm of each part, then the gate, to the bit.
TEST(RmsNormThenGate, IsTheNormThenTheGate) {
  Rng rng(5);
  ForEachTarget([&] {
    for (const int64_t part : {1, 3, 61, 64, 127}) {
      const int64_t T = 3, R = 2 * part;
      const std::vector<float> y = RandomFloats(T * R, rng), z = RandomFloats(T * R, rng, -10, 10),
                               weight = RandomFloats(R, rng);
      const ConstView value(y.data(), T, R), gate(z.data(), T, R);
      std::vector<float> whole(y.size()), steps(y.size());
      const View view(steps.data(), T, R);
      RmsNormThenGate(value, gate, weight.data(), 1e-5f, /*groups=*/2, View(whole.data(), T, R));
      for (int64_t r = 0; r < R; r += part) {
        RmsNorm(value.Cols(r, part), weight.data() + r, 1e-5f, view.Cols(r, part));
      }
      SiluGate(view, gate, view);
      EXPECT_EQ(whole, steps);
    }
  });
}

TEST(RmsNormThenGate, ThreadsChangeNothing) {
  Rng rng(6);
  const int64_t T = 70, R = 260;
  const std::vector<float> y = RandomFloats(T * R, rng), z = RandomFloats(T * R, rng),
                           weight = RandomFloats(R, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out = y;
    const View view(out.data(), T, R);
    RmsNormThenGate(view, ConstView(z.data(), T, R), weight.data(), 1e-5f, 2, view);
    return out;
  });
}

}  // namespace
}  // namespace ghost
