#include "kernels/rows/softmax.h"

#include <limits>

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(LogProb, AgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (const int64_t V : {1, 2, 7, 8, 17, 127, 128, 129, 500, 50288}) {
      const std::vector<float> logits = RandomFloats(V, rng, -30, 12);
      const double expected = logits[static_cast<size_t>(V / 2)] - LogSumExpRef(logits);
      EXPECT_NEAR(LogProb(logits, static_cast<int32_t>(V / 2)), expected, 1e-6);
    }
  });
}

TEST(LogProb, ExtremeLogits) {
  ForEachTarget([] {
    EXPECT_DOUBLE_EQ(LogProb(std::vector<float>{1000, 0, -kInf}, 0), 0);
    EXPECT_DOUBLE_EQ(LogProb(std::vector<float>{1000, 0, -3e38f}, 1), -1000);
    EXPECT_EQ(LogProb(std::vector<float>{1, -kInf}, 1), -kInf);
    EXPECT_NEAR(LogProb(std::vector<float>(1000, -5.0f), 3), -std::log(1000), 1e-12);
    EXPECT_TRUE(std::isnan(LogProb(std::vector<float>{kNaN, 1}, 1)));
  });
}

TEST(ArgMax, LowestIndexWins) {
  ForEachTarget([] {
    std::vector<float> logits(50, 1.0f);
    EXPECT_EQ(ArgMax(logits), 0);
    logits[17] = logits[18] = logits[49] = 2;
    EXPECT_EQ(ArgMax(logits), 17);
    logits[49] = 3;
    EXPECT_EQ(ArgMax(logits), 49);
    logits[3] = kNaN;
    EXPECT_EQ(ArgMax(logits), 49);
    EXPECT_EQ(ArgMax(std::vector<float>(9, kNaN)), 0);
    EXPECT_EQ(ArgMax(std::vector<float>(9, -kInf)), 0);
  });
}

TEST(KlDivergence, AgainstRef) {
  Rng rng(2);
  ForEachTarget([&] {
    for (const int64_t V : {1, 2, 7, 8, 17, 127, 128, 129, 500, 50288}) {
      const std::vector<float> p = RandomFloats(V, rng, -30, 12), far = RandomFloats(V, rng, -30, 12);
      std::vector<float> near = p;
      for (float& v : near) v += 0.5f + 0.01f * static_cast<float>(rng.Uniform());
      EXPECT_NEAR(KlDivergence(p, far), KlDivergenceRef(p, far), 1e-5);
      EXPECT_NEAR(KlDivergence(p, near), KlDivergenceRef(p, near), 1e-6);
    }
  });
}

TEST(KlDivergence, IsZeroForEqualDistributionsAndNeverLess) {
  Rng rng(3);
  ForEachTarget([&] {
    const std::vector<float> p = RandomFloats(300, rng, -10, 10);
    EXPECT_EQ(KlDivergence(p, p), 0);
    std::vector<float> shifted = p;  // the same distribution
    for (float& v : shifted) v += 8.0f;
    EXPECT_NEAR(KlDivergence(p, shifted), 0, 1e-5);
    EXPECT_GE(KlDivergence(p, shifted), 0);
  });
}

TEST(KlDivergence, ExtremeLogits) {
  ForEachTarget([] {
    // What the reference never says does not matter.
    EXPECT_EQ(KlDivergence(std::vector<float>{0, -kInf}, std::vector<float>{0, -kInf}), 0);
    EXPECT_NEAR(KlDivergence(std::vector<float>{0, 0}, std::vector<float>{0, -1000}), 500 - std::log(2),
                1e-4);
    EXPECT_NEAR(KlDivergence(std::vector<float>{0, -1000}, std::vector<float>{0, 0}), std::log(2), 1e-6);
    EXPECT_TRUE(std::isnan(KlDivergence(std::vector<float>{kNaN, 1}, std::vector<float>{0, 1})));
    EXPECT_TRUE(std::isnan(KlDivergence(std::vector<float>{0, 1}, std::vector<float>{kNaN, 1})));
  });
}

}  // namespace
}  // namespace ghost
