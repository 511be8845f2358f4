#include "kernels/rows/softmax_backward.h"

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

TEST(SoftmaxCrossEntropyBackward, EverySizeAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (int64_t V = 1; V <= 70; ++V) {
      std::vector<float> expected = RandomFloats(V, rng, -30, 30), actual = expected;
      const auto target = static_cast<int32_t>(rng.Bits() % static_cast<uint64_t>(V));
      const double loss = SoftmaxCrossEntropyBackwardRef(expected, target, 0.25f);
      EXPECT_NEAR(SoftmaxCrossEntropyBackward(actual, target, 0.25f), loss, 1e-6 * loss + 1e-6);
      for (size_t i = 0; i < actual.size(); ++i) {
        // The target's entry comes from its loss, which has the rounding of the logits' range.
        ASSERT_NEAR(actual[i], expected[i], 2e-6 * std::fabs(expected[i]) + 1e-7) << i;
      }
    }
  });
}

TEST(SoftmaxCrossEntropyBackward, GradientsSumToZero) {
  Rng rng(2);
  std::vector<float> row = RandomFloats(50288, rng, -5, 5);
  SoftmaxCrossEntropyBackward(row, 17, 1.0f);
  double sum = 0;
  for (const float v : row) sum += v;
  EXPECT_NEAR(sum, 0, 1e-6);
  EXPECT_LT(row[17], -0.9);
}

TEST(SoftmaxCrossEntropyBackward, FarBelowIsZero) {
  std::vector<float> row = {0.0f, -1000.0f, -300.0f};
  EXPECT_NEAR(SoftmaxCrossEntropyBackward(row, 0, 1.0f), 0, 1e-12);
  EXPECT_EQ(row[1], 0.0f);
  EXPECT_EQ(row[2], 0.0f);
}

TEST(DistillationBackward, EverySizeAgainstRef) {
  Rng rng(3);
  ForEachTarget([&] {
    for (int64_t V = 1; V <= 70; ++V) {
      for (const float weight : {0.0f, 0.3f, 1.0f}) {
        std::vector<float> expected = RandomFloats(V, rng, -30, 30), actual = expected;
        const std::vector<float> teacher = RandomFloats(V, rng, -30, 30);
        const auto target = static_cast<int32_t>(rng.Bits() % static_cast<uint64_t>(V));
        const double loss = DistillationBackwardRef(expected, teacher, target, weight, 0.25f);
        EXPECT_NEAR(DistillationBackward(actual, teacher, target, weight, 0.25f), loss, 1e-6 * loss + 1e-5);
        for (size_t i = 0; i < actual.size(); ++i)
          ASSERT_NEAR(actual[i], expected[i], 5e-6 * std::fabs(expected[i]) + 1e-7) << i;
      }
    }
  });
}

TEST(DistillationBackwardRef, GradientEqualsCentralDifferences) {
  Rng rng(4);
  const std::vector<float> logits = RandomFloats(9, rng, -3, 3), teacher = RandomFloats(9, rng, -3, 3);
  for (const float weight : {0.0f, 0.4f, 1.0f}) {
    std::vector<float> gradient = logits;
    DistillationBackwardRef(gradient, teacher, 5, weight, 2.0f);
    const auto loss_at = [&](size_t v, float value) {
      std::vector<float> moved = logits;
      moved[v] = value;
      return DistillationBackwardRef(moved, teacher, 5, weight, 2.0f);
    };
    for (size_t v = 0; v < logits.size(); ++v) {
      const float above = logits[v] + 0x1p-9f, below = logits[v] - 0x1p-9f;
      const double slope = 2.0 * (loss_at(v, above) - loss_at(v, below)) / (double{above} - below);
      EXPECT_NEAR(gradient[v], slope, 1e-5) << v;
    }
  }
}

TEST(DistillationBackward, WithoutWeightItIsTheCrossEntropy) {
  Rng rng(5);
  std::vector<float> expected = RandomFloats(4096, rng, -5, 5), actual = expected;
  const std::vector<float> teacher = RandomFloats(4096, rng, -5, 5);
  const double loss = SoftmaxCrossEntropyBackward(expected, 17, 1.0f);
  EXPECT_DOUBLE_EQ(DistillationBackward(actual, teacher, 17, 0.0f, 1.0f), loss);
  ExpectClose(expected, actual, 1e-6);
}

TEST(DistillationBackward, NothingIsLeftToLearnFromAnEqualTeacher) {
  Rng rng(6);
  ForEachTarget([&] {
    std::vector<float> row = RandomFloats(4099, rng, -20, 20);
    const std::vector<float> teacher = row;
    EXPECT_EQ(DistillationBackward(row, teacher, 7, 1.0f, 0.1f), 0.0);
    EXPECT_EQ(row, std::vector<float>(4099, 0.0f));
  });
}

}  // namespace
}  // namespace ghost
