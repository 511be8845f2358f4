// What matmul_test.cc does not say of products with quantised weights: every size against the reference, and
// which results are the same to the bit.
#include "kernels/matmul/int8_product.h"

#include <algorithm>
#include <limits>

#include "kernels/kernel_testing.h"
#include "kernels/matmul/activation_blocks.h"

namespace ghost {
namespace {

std::vector<float> Multiply(const std::vector<float>& x, int64_t T, const StoredWeights& w,
                            decltype(MatMul)* product = MatMul) {
  std::vector<float> y(static_cast<size_t>(T * w.view.rows));
  product(ConstView(x.data(), T, w.view.cols), w.view, View(y.data(), T, w.view.rows), {});
  return y;
}

TEST(Int8Product, EveryWidthAndDepthAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (const DType type : kBlockTypes) {
      const int64_t block = InfoOf(type).block_size;
      for (int64_t O = 0; O <= 2 * kGroupWeights + 1; ++O) {
        for (const int64_t K : {block, 3 * block}) {
          const int64_t T = 1 + O % 11;
          const StoredWeights w(type, O, K, rng, O % 4);
          const std::vector<float> x = RandomFloats(T * K, rng);
          SCOPED_TRACE(testing::Message() << NameOf(type) << " T " << T << " K " << K << " O " << O);
          ExpectClose(Multiply(x, T, w, MatMulRef), Multiply(x, T, w), 2e-6);
        }
      }
    }
  });
}

// A row's result is the same in every batch of few rows, in every batch of many rows, and on every
// instruction set with fused multiply-adds.
TEST(Int8Product, BatchAndInstructionSetChangeNoBit) {
  Rng rng(2);
  for (const DType type : kBlockTypes) {
    const int64_t T = 70, K = 512, O = 50;
    const StoredWeights w(type, O, K, rng);
    const std::vector<float> x = RandomFloats(T * K, rng);
    const auto rows = [&](int64_t first, int64_t count) {
      return Multiply(std::vector<float>(x.begin() + first * K, x.begin() + (first + count) * K), count, w);
    };
    const std::vector<float> expected = rows(0, T), expected_first = rows(0, 1);
    ForEachTarget([&] {
      const std::vector<float> whole = rows(0, T);
      if (hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3)) {
        EXPECT_EQ(whole, expected);
        EXPECT_EQ(rows(0, 1), expected_first);
      }
      for (const int64_t count : {5, 8, 13, 33, 64}) {
        const std::vector<float> part = rows(T - count, count);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.end() - count * O)) << count;
      }
      const std::vector<float> first = rows(0, 1);
      for (const int64_t count : {2, 3, 4}) {
        const std::vector<float> few = rows(0, count);
        EXPECT_TRUE(std::equal(first.begin(), first.end(), few.begin())) << count;
      }
    });
  }
}

TEST(Int8Product, BlocksThatHaveNoScale) {
  Rng rng(3);
  const StoredWeights w(DType::kQ8_0, 17, 96, rng);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  ForEachTarget([&] {
    for (const float value : {0.0f, -0.0f, 1e-38f, 0x1.0p-101f, 1e-45f}) {  // all of the row: zeros
      EXPECT_EQ(Multiply(std::vector<float>(96, value), 1, w), std::vector<float>(17, 0.0f));
    }
    for (const float value : {inf, -inf, nan, -nan}) {  // one value: the whole row, and only that row
      const int64_t T = std::isnan(value) ? 3 : 9;
      std::vector<float> x = RandomFloats(T * 96, rng);
      const std::vector<float> before = Multiply(x, T, w);
      x[96 + 40] = value;
      const std::vector<float> after = Multiply(x, T, w);
      for (size_t i = 0; i < after.size(); ++i) {
        if (i / 17 == 1) {
          EXPECT_TRUE(std::isnan(after[i]));
        } else {
          EXPECT_EQ(after[i], before[i]);
        }
      }
    }
  });
}

TEST(Int8Product, LargestValuesDoNotOverflow) {
  for (const int8_t q : {int8_t{-128}, int8_t{127}}) {
    std::vector<std::byte> bytes(34, static_cast<std::byte>(q));
    const uint16_t one = F16FromF32(1.0f);
    std::memcpy(bytes.data(), &one, 2);
    const WeightView w(DType::kQ8_0, bytes.data(), 1, 32);
    ForEachTarget([&] {
      for (const float value : {-127.0f, 127.0f}) {
        for (const int64_t T : {1, 5}) {
          const std::vector<float> x(static_cast<size_t>(T * 32), value);
          std::vector<float> y(static_cast<size_t>(T));
          MatMul(ConstView(x.data(), T, 32), w, View(y.data(), T, 1));
          EXPECT_EQ(y, std::vector<float>(y.size(), 32.0f * value * static_cast<float>(q)));
        }
      }
    });
  }
}

TEST(Int8Product, ThreadsChangeNothing) {
  Rng rng(4);
  for (const DType type : kBlockTypes) {
    const StoredWeights w(type, 333, 512, rng);
    for (const int64_t T : {1, 3, 32, 300}) {
      const std::vector<float> x = RandomFloats(T * 512, rng);
      ExpectSameForAllThreadCounts([&] { return Multiply(x, T, w); });
    }
  }
}

TEST(ActivationBlocks, RoundToNearestEven) {
  std::vector<float> x(32, 0.0f);
  x[0] = 127.0f, x[1] = 0.5f, x[2] = 1.5f, x[3] = -2.5f, x[4] = 63.49f;
  int8_t q[32];
  EXPECT_EQ(QuantizeActivationsRef(x.data(), q), 1.0f);
  EXPECT_EQ(std::vector<int>(q, q + 6), (std::vector<int>{127, 0, 2, -2, 63, 0}));
}

}  // namespace
}  // namespace ghost
