#include "kernels/norm/norm.h"

#include "kernels/kernel_testing.h"

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

}  // namespace
}  // namespace ghost
