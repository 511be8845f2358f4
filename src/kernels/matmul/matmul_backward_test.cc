#include "kernels/matmul/matmul_backward.h"

#include "kernels/kernel_testing.h"
#include "kernels/rows/gather_backward.h"

namespace ghost {
namespace {

TEST(MatMulTransposed, EveryTypeAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (const DType type : kWeightTypes) {
      SCOPED_TRACE(NameOf(type));
      for (const int64_t T : {1, 2, 5, 33}) {
        for (const auto& [O, columns] :
             {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {16, 32}, {17, 61}, {130, 40}}) {
          const int64_t K = type == DType::kQ8_0 ? (columns + 31) / 32 * 32 : columns;
          const StoredWeights w(type, O, K, rng, /*offset=*/type == DType::kQ8_0 ? 0 : 2);
          const std::vector<float> dy = RandomFloats(T * (O + 1), rng);
          std::vector<float> expected(static_cast<size_t>(T * K), 7.0f), actual = expected;
          MatMulTransposedRef(ConstView(dy.data(), T, O, O + 1), w.view, View(expected.data(), T, K));
          MatMulTransposed(ConstView(dy.data(), T, O, O + 1), w.view, View(actual.data(), T, K));
          ExpectClose(expected, actual, 3e-6);
        }
      }
    }
  });
}

TEST(MatMulTransposed, SeveralStripsOfWeights) {
  Rng rng(2);
  const int64_t T = 9, O = 2500, K = 1000;  // more than one strip of 2 Mi floats
  const StoredWeights w(DType::kF32, O, K, rng);
  const std::vector<float> dy = RandomFloats(T * O, rng);
  std::vector<float> expected(static_cast<size_t>(T * K)), actual(expected.size());
  MatMulTransposedRef(ConstView(dy.data(), T, O), w.view, View(expected.data(), T, K));
  ExpectSameForAllThreadCounts([&] {
    MatMulTransposed(ConstView(dy.data(), T, O), w.view, View(actual.data(), T, K));
    return actual;
  });
  ExpectClose(expected, actual, 5e-6);
}

TEST(OuterAccumulate, EverySizeAgainstRef) {
  Rng rng(3);
  ForEachTarget([&] {
    for (const int64_t T : {0, 1, 2, 7, 65}) {
      for (const auto& [O, K] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {16, 32}, {61, 17}, {4, 130}}) {
        const std::vector<float> dy = RandomFloats(T * (O + 2) + 1, rng), x = RandomFloats(T * K + 1, rng);
        std::vector<float> expected = RandomFloats(O * K, rng), actual = expected;
        const ConstView grad(dy.data() + 1, T, O, O + 2), in(x.data() + 1, T, K);
        OuterAccumulateRef(grad, in, View(expected.data(), O, K));
        OuterAccumulate(grad, in, View(actual.data(), O, K));
        ExpectClose(expected, actual, 3e-6);
      }
    }
  });
}

TEST(OuterAccumulate, ThreadsChangeNothing) {
  Rng rng(4);
  const int64_t T = 1200, O = 700, K = 1500;  // more than one strip of tokens
  const std::vector<float> dy = RandomFloats(T * O, rng), x = RandomFloats(T * K, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> dw(static_cast<size_t>(O * K), 0.0f);
    OuterAccumulate(ConstView(dy.data(), T, O), ConstView(x.data(), T, K), View(dw.data(), O, K));
    return dw;
  });
}

TEST(AddColumnSums, AddsEveryColumn) {
  Rng rng(5);
  for (const int64_t O : {1, 3, 64, 65, 200}) {
    const int64_t T = 33;
    const std::vector<float> dy = RandomFloats(T * (O + 2), rng);
    std::vector<float> sums = RandomFloats(O, rng), expected = sums;
    for (int64_t o = 0; o < O; ++o) {
      double total = 0;
      for (int64_t t = 0; t < T; ++t) total += dy[static_cast<size_t>(t * (O + 2) + 1 + o)];
      expected[static_cast<size_t>(o)] = static_cast<float>(expected[static_cast<size_t>(o)] + total);
    }
    AddColumnSums(ConstView(dy.data() + 1, T, O, O + 2), sums.data());
    EXPECT_EQ(sums, expected) << O;
  }
}

TEST(ScatterAddRows, RepeatedIdsAddUp) {
  const std::vector<int32_t> ids = {2, 0, 2, 2};
  for (const int64_t M : {1, 64, 70}) {
    std::vector<float> rows, table(static_cast<size_t>(3 * M), 1.0f);
    for (int64_t i = 0; i < 4 * M; ++i) rows.push_back(static_cast<float>(i));
    ScatterAddRows(ids, ConstView(rows.data(), 4, M), View(table.data(), 3, M));
    for (int64_t m = 0; m < M; ++m) {
      EXPECT_EQ(table[static_cast<size_t>(m)], 1.0f + static_cast<float>(M + m));
      EXPECT_EQ(table[static_cast<size_t>(M + m)], 1.0f);
      EXPECT_EQ(table[static_cast<size_t>(2 * M + m)], 1.0f + static_cast<float>(5 * M + 3 * m));
    }
  }
}

}  // namespace
}  // namespace ghost
