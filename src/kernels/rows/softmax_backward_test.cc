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

}  // namespace
}  // namespace ghost
