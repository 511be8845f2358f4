#include "kernels/attention/rope.h"

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

using Kernel = void (*)(std::span<const int64_t>, int, double, View);

// `in` with rows `gap` floats apart, rotated; the gaps must stay unchanged.
std::vector<float> Rotate(Kernel kernel, const std::vector<int64_t>& positions, int heads, int head_dim,
                          std::vector<float> x, int64_t gap) {
  const int64_t T = static_cast<int64_t>(positions.size()), cols = int64_t{heads} * head_dim;
  kernel(positions, head_dim, 10000.0, View(x.data() + 1, T, cols, cols + gap));
  return x;
}

TEST(ApplyRope, AgainstRef) {
  Rng rng(1);
  const std::vector<int64_t> positions = {0, 1, 2, 5, 4095, 7, 0, 131071, 3, 60, 61};
  ForEachTarget([&] {
    for (const int d : {2, 4, 6, 14, 16, 18, 34, 64, 80, 160, 224}) {
      for (const int heads : {1, 3}) {
        const int64_t cols = heads * d;
        const std::vector<float> x = RandomFloats(1 + 11 * (cols + 5), rng);
        ExpectClose(Rotate(ApplyRopeRef, positions, heads, d, x, 5),
                    Rotate(ApplyRope, positions, heads, d, x, 5), 2e-7);
        ExpectClose(Rotate(ApplyRopeBackwardRef, positions, heads, d, x, 5),
                    Rotate(ApplyRopeBackward, positions, heads, d, x, 5), 2e-7);
      }
    }
  });
}

TEST(ApplyRope, PairsAreHalfAHeadApart) {
  std::vector<float> x = {1, 2, 0, 0, 0, 0, 3, 4};  // two heads of four
  const std::vector<int64_t> positions = {3};
  ApplyRope(positions, 4, 100.0, View(x.data(), 1, 8));
  const double c0 = std::cos(3.0), s0 = std::sin(3.0), c1 = std::cos(0.3), s1 = std::sin(0.3);
  const double expected[] = {c0, 2 * c1, s0, 2 * s1, -3 * s0, -4 * s1, 3 * c0, 4 * c1};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(x[i], expected[i], 5e-7) << i;
}

TEST(ApplyRope, PositionZeroChangesNothingAndBackwardUndoes) {
  Rng rng(2);
  const std::vector<float> x = RandomFloats(1 + 3 * 160, rng);
  EXPECT_EQ(Rotate(ApplyRope, {0, 0, 0}, 2, 80, x, 0), x);
  const std::vector<int64_t> positions = {17, 1000, 5};
  ExpectClose(x, Rotate(ApplyRopeBackward, positions, 2, 80, Rotate(ApplyRope, positions, 2, 80, x, 0), 0),
              3e-7);
}

TEST(ApplyRope, ThreadsChangeNothing) {
  Rng rng(3);
  std::vector<int64_t> positions;
  for (int64_t t = 0; t < 70; ++t) positions.push_back(t * 3);
  const std::vector<float> x = RandomFloats(1 + 70 * 320, rng);
  ExpectSameForAllThreadCounts([&] { return Rotate(ApplyRope, positions, 4, 80, x, 0); });
}

}  // namespace
}  // namespace ghost
