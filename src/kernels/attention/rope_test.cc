#include "kernels/attention/rope.h"

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

using Kernel = void (*)(std::span<const int64_t>, const RopeShape&, View);

constexpr RopePairs kPairs[] = {RopePairs::kHalves, RopePairs::kNeighbours};

// x with rows `gap` floats apart, rotated; the gaps must stay unchanged.
std::vector<float> Rotate(Kernel kernel, const std::vector<int64_t>& positions, int heads,
                          const RopeShape& shape, std::vector<float> x, int64_t gap) {
  const int64_t T = static_cast<int64_t>(positions.size()), cols = int64_t{heads} * shape.head_dim;
  kernel(positions, shape, View(x.data() + 1, T, cols, cols + gap));
  return x;
}

TEST(ApplyRope, AgainstRef) {
  Rng rng(1);
  const std::vector<int64_t> positions = {0, 1, 2, 5, 4095, 7, 0, 131071, 3, 60, 61};
  ForEachTarget([&] {
    for (const int rotated : {2, 4, 6, 14, 16, 18, 34, 64, 80, 160, 224}) {
      for (const int head_dim : {rotated, rotated + 1, rotated + 16}) {
        for (const int heads : {1, 3}) {
          const std::vector<float> x = RandomFloats(1 + 11 * (heads * head_dim + 5), rng);
          for (const RopePairs pairs : kPairs) {
            const RopeShape shape{.head_dim = head_dim, .rotated = rotated, .pairs = pairs};
            ExpectClose(Rotate(ApplyRopeRef, positions, heads, shape, x, 5),
                        Rotate(ApplyRope, positions, heads, shape, x, 5), 2e-7);
            ExpectClose(Rotate(ApplyRopeBackwardRef, positions, heads, shape, x, 5),
                        Rotate(ApplyRopeBackward, positions, heads, shape, x, 5), 2e-7);
          }
        }
      }
    }
  });
}

// Two heads of four, position 3, angles 3 and 0.3.
TEST(ApplyRope, PairsAreHalfAHeadApart) {
  std::vector<float> x = {1, 2, 0, 0, 0, 0, 3, 4};
  const std::vector<int64_t> positions = {3};
  ApplyRope(positions, {.head_dim = 4, .rotated = 4, .theta = 100.0}, View(x.data(), 1, 8));
  const double c0 = std::cos(3.0), s0 = std::sin(3.0), c1 = std::cos(0.3), s1 = std::sin(0.3);
  const double expected[] = {c0, 2 * c1, s0, 2 * s1, -3 * s0, -4 * s1, 3 * c0, 4 * c1};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(x[i], expected[i], 5e-7) << i;
}

TEST(ApplyRope, PairsAreNeighbours) {
  std::vector<float> x = {1, 0, 2, 0, 0, 3, 0, 4};
  const std::vector<int64_t> positions = {3};
  const RopeShape shape{.head_dim = 4, .rotated = 4, .theta = 100.0, .pairs = RopePairs::kNeighbours};
  ApplyRope(positions, shape, View(x.data(), 1, 8));
  const double c0 = std::cos(3.0), s0 = std::sin(3.0), c1 = std::cos(0.3), s1 = std::sin(0.3);
  const double expected[] = {c0, s0, 2 * c1, 2 * s1, -3 * s0, 3 * c0, -4 * s1, 4 * c1};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(x[i], expected[i], 5e-7) << i;
}

// The rotated part of a head is rotated like a head of its size, and the rest passes to the bit.
TEST(ApplyRope, RotatesOnlyTheFirstChannels) {
  Rng rng(4);
  const int heads = 3, head_dim = 128, rotated = 64;
  const std::vector<int64_t> positions = {5, 77};
  const int64_t T = 2;
  ForEachTarget([&] {
    for (const RopePairs pairs : kPairs) {
      const std::vector<float> before = RandomFloats(T * heads * head_dim, rng);
      std::vector<float> after = before;
      ApplyRope(positions, {.head_dim = head_dim, .rotated = rotated, .pairs = pairs},
                View(after.data(), T, heads * head_dim));
      for (size_t head = 0; head < static_cast<size_t>(T * heads); ++head) {
        const auto in = before.begin() + static_cast<int64_t>(head) * head_dim;
        const auto out = after.begin() + static_cast<int64_t>(head) * head_dim;
        std::vector<float> alone(in, in + rotated);
        ApplyRope(std::span(positions).subspan(head / heads, 1),
                  {.head_dim = rotated, .rotated = rotated, .pairs = pairs}, View(alone.data(), 1, rotated));
        EXPECT_EQ(std::vector<float>(out, out + rotated), alone);
        EXPECT_EQ(std::vector<float>(out + rotated, out + head_dim),
                  std::vector<float>(in + rotated, in + head_dim));
      }
    }
  });
}

// A float32 angle near a million would be off by 0.03; compares with angles in long double.
TEST(ApplyRope, LargePositionsAndTheta) {
  const int rotated = 64;
  const std::vector<int64_t> positions = {1'000'000, 999'983, 262'143};
  for (const double theta : {1e4, 1e7, 1e11}) {
    for (const RopePairs pairs : kPairs) {
      std::vector<float> x(3 * rotated, 0.0f);
      const bool halves = pairs == RopePairs::kHalves;
      for (size_t t = 0; t < 3; ++t) {
        for (size_t i = 0; i < rotated / 2; ++i) x[t * rotated + (halves ? i : 2 * i)] = 1.0f;
      }
      ApplyRope(positions, {.head_dim = rotated, .rotated = rotated, .theta = theta, .pairs = pairs},
                View(x.data(), 3, rotated));
      for (size_t t = 0; t < 3; ++t) {
        for (size_t i = 0; i < rotated / 2; ++i) {
          const long double angle =
              static_cast<long double>(positions[t]) *
              std::pow(static_cast<long double>(theta), -2.0L * static_cast<long double>(i) / rotated);
          const float* head = x.data() + t * rotated;
          EXPECT_NEAR(head[halves ? i : 2 * i], static_cast<double>(std::cos(angle)), 7e-8) << i;
          EXPECT_NEAR(head[halves ? i + rotated / 2 : 2 * i + 1], static_cast<double>(std::sin(angle)), 7e-8);
        }
      }
    }
  }
}

TEST(ApplyRope, PositionZeroChangesNothingAndBackwardUndoes) {
  Rng rng(2);
  const std::vector<float> x = RandomFloats(1 + 3 * 160, rng);
  for (const RopePairs pairs : kPairs) {
    for (const int rotated : {40, 80}) {
      const RopeShape shape{.head_dim = 80, .rotated = rotated, .pairs = pairs};
      EXPECT_EQ(Rotate(ApplyRope, {0, 0, 0}, 2, shape, x, 0), x);
      const std::vector<int64_t> positions = {17, 1000, 5};
      const std::vector<float> there = Rotate(ApplyRope, positions, 2, shape, x, 0);
      ExpectClose(x, Rotate(ApplyRopeBackward, positions, 2, shape, there, 0), 3e-7);
    }
  }
}

TEST(ApplyRope, ThreadsChangeNothing) {
  Rng rng(3);
  std::vector<int64_t> positions;
  for (int64_t t = 0; t < 70; ++t) positions.push_back(t * 3);
  const std::vector<float> x = RandomFloats(1 + 70 * 320, rng);
  for (const RopePairs pairs : kPairs) {
    const RopeShape shape{.head_dim = 80, .rotated = 64, .pairs = pairs};
    ExpectSameForAllThreadCounts([&] { return Rotate(ApplyRope, positions, 4, shape, x, 0); });
  }
}

}  // namespace
}  // namespace ghost
