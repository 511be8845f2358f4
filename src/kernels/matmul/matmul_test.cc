#include "kernels/matmul/matmul.h"

#include <algorithm>

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

struct Terms {
  bool bias = false, accumulate = false, scale = false;
};

// x and y are strided and start one float off an aligned address.
struct Product {
  Product(int64_t t, int64_t k, int64_t o, DType type, int64_t weight_offset, uint64_t seed)
      : T(t), K(k), O(o), rng(seed), w(type, O, K, rng, weight_offset) {
    x = RandomFloats(1 + T * (K + 3), rng);
    y = RandomFloats(1 + T * (O + 5), rng);
    bias = RandomFloats(O, rng);
    scale = RandomFloats(O, rng, -2, 2);
  }
  std::vector<float> Run(bool ref, const Terms& terms) const {
    std::vector<float> out = y;
    (ref ? MatMulRef : MatMul)(ConstView(x.data() + 1, T, K, K + 3), w.view,
                               View(out.data() + 1, T, O, O + 5),
                               {.bias = terms.bias ? bias.data() : nullptr,
                                .accumulate = terms.accumulate,
                                .scale = terms.scale ? scale.data() : nullptr});
    return out;
  }
  int64_t T, K, O;
  Rng rng;
  StoredWeights w;
  std::vector<float> x, y, bias, scale;
};

void ExpectSame(const Product& p, const Terms& terms) {
  SCOPED_TRACE(testing::Message() << "T " << p.T << " K " << p.K << " O " << p.O << " "
                                  << NameOf(p.w.view.dtype));
  ExpectClose(p.Run(/*ref=*/true, terms), p.Run(/*ref=*/false, terms), 2e-6);
}

TEST(MatMul, EveryRowCountAgainstRef) {
  ForEachTarget([] {
    for (int64_t T = 0; T <= 69; ++T) {
      const DType type = kWeightTypes[T % 4];
      const Product p(T, 64, 7 + T % 6, type, T % 3, 1);
      ExpectSame(p, {.bias = T % 2 == 0, .accumulate = T % 3 == 0});
      ExpectSame(p, {.bias = T % 2 == 0, .accumulate = T % 3 == 0, .scale = true});
    }
  });
}

// All remainders of the rows of weights that are multiplied together, with dot products and with tiles.
TEST(MatMul, EveryWeightRowCountAgainstRef) {
  ForEachTarget([] {
    for (int64_t O = 1; O <= 25; ++O) {
      for (int64_t T = 1; T <= 9; ++T) {
        ExpectSame(Product(T, 70, O, kWeightTypes[(O + T) % 3], O % 3, 7), {.bias = true});
      }
      ExpectSame(Product(20, 70, O, kWeightTypes[O % 3], 0, 7), {.accumulate = true});
    }
  });
}

TEST(MatMul, OddDepthsAndWidths) {
  ForEachTarget([] {
    for (const int64_t T : {1, 2, 3, 4, 5, 33, 70}) {
      for (const int64_t K : {0, 1, 2, 7, 31, 33, 65, 257, 600}) {
        const int64_t O = 1 + (K * 7 + T * 5) % 101;
        const Product p(T, K, O, kWeightTypes[(K + T) % 3], 1, 2);
        ExpectSame(p, {.bias = K % 2 == 0, .accumulate = T % 2 == 0});
        ExpectSame(p, {.bias = K % 2 == 0, .accumulate = T % 2 == 0, .scale = true});
      }
    }
  });
}

TEST(MatMul, EveryWeightTypeUnaligned) {
  ForEachTarget([] {
    for (const DType type : kWeightTypes) {
      for (int64_t offset = 0; offset < 4; ++offset) {
        for (const int64_t T : {1, 4, 8, 33}) {
          const Product p(T, 288, 53, type, offset, 3);
          ExpectSame(p, {.bias = true, .accumulate = true});
          ExpectSame(p, {.bias = true, .accumulate = true, .scale = true});
        }
      }
    }
  });
}

TEST(MatMul, ManyRows) {
  for (const DType type : kWeightTypes) ExpectSame(Product(600, 288, 100, type, 0, 4), {.bias = true});
}

// Multiplying by one is exact, so this compares the two branches of every store to the bit.
TEST(MatMul, ScaleOfOnesChangesNothing) {
  ForEachTarget([] {
    for (const int64_t T : {1, 2, 4, 5, 8, 33, 70}) {
      for (const int64_t K : {0, 1, 65, 300}) {
        Product p(T, K, 54, DType::kF32, 0, 6);
        std::fill(p.scale.begin(), p.scale.end(), 1.0f);
        for (const bool bias : {false, true}) {
          for (const bool accumulate : {false, true}) {
            EXPECT_EQ(p.Run(/*ref=*/false, {bias, accumulate, /*scale=*/true}),
                      p.Run(/*ref=*/false, {bias, accumulate, /*scale=*/false}));
          }
        }
      }
    }
  });
}

TEST(MatMul, ScaleMultipliesTheProductAlone) {
  const float weights[] = {1, 2, 3, 4, 5, 6}, bias[] = {100, 200, 300}, scale[] = {2, 0, -1};
  const WeightView w(DType::kF32, reinterpret_cast<const std::byte*>(weights), 3, 2);
  for (const int64_t T : {1, 9}) {
    const std::vector<float> x(static_cast<size_t>(2 * T), 1.0f);
    for (const auto kernel : {MatMul, MatMulRef}) {
      std::vector<float> y(static_cast<size_t>(3 * T), 1000.0f);
      kernel(ConstView(x.data(), T, 2), w, View(y.data(), T, 3),
             {.bias = bias, .accumulate = true, .scale = scale});
      for (int64_t t = 0; t < T; ++t) {
        EXPECT_EQ(std::vector<float>(y.begin() + 3 * t, y.begin() + 3 * t + 3),
                  (std::vector<float>{1000 + 100 + 2 * 3, 1000 + 200, 1000 + 300 - 11}));
      }
    }
  }
}

TEST(MatMul, ThreadsChangeNothing) {
  for (const DType type : kWeightTypes) {
    for (const int64_t T : {1, 3, 32, 65, 300, 520, 1100}) {
      const Product p(T, 320, 333, type, 0, 5);
      ExpectSameForAllThreadCounts(
          [&] { return p.Run(/*ref=*/false, {.bias = true, .accumulate = true, .scale = true}); });
    }
  }
}

}  // namespace
}  // namespace ghost
