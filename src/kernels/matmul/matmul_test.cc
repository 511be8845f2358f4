#include "kernels/matmul/matmul.h"

#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

// x and y are strided and start one float off an aligned address.
struct Product {
  Product(int64_t t, int64_t k, int64_t o, DType type, int64_t weight_offset, uint64_t seed)
      : T(t), K(k), O(o), rng(seed), w(type, O, K, rng, weight_offset) {
    x = RandomFloats(1 + T * (K + 3), rng);
    y = RandomFloats(1 + T * (O + 5), rng);
    bias = RandomFloats(O, rng);
  }
  std::vector<float> Run(bool ref, bool with_bias, bool accumulate) const {
    std::vector<float> out = y;
    (ref ? MatMulRef : MatMul)(ConstView(x.data() + 1, T, K, K + 3), w.view,
                               View(out.data() + 1, T, O, O + 5),
                               {.bias = with_bias ? bias.data() : nullptr, .accumulate = accumulate});
    return out;
  }
  int64_t T, K, O;
  Rng rng;
  StoredWeights w;
  std::vector<float> x, y, bias;
};

void ExpectSame(const Product& p, bool bias, bool accumulate) {
  SCOPED_TRACE(testing::Message() << "T " << p.T << " K " << p.K << " O " << p.O << " "
                                  << NameOf(p.w.view.dtype));
  ExpectClose(p.Run(/*ref=*/true, bias, accumulate), p.Run(/*ref=*/false, bias, accumulate), 2e-6);
}

TEST(MatMul, EveryRowCountAgainstRef) {
  ForEachTarget([] {
    for (int64_t T = 0; T <= 69; ++T) {
      const DType type = kWeightTypes[T % 4];
      ExpectSame(Product(T, 64, 7 + T % 6, type, T % 3, 1), T % 2 == 0, T % 3 == 0);
    }
  });
}

TEST(MatMul, OddDepthsAndWidths) {
  ForEachTarget([] {
    for (const int64_t T : {1, 2, 3, 4, 5, 33, 70}) {
      for (const int64_t K : {0, 1, 2, 7, 31, 33, 65, 257, 600}) {
        const int64_t O = 1 + (K * 7 + T * 5) % 101;
        ExpectSame(Product(T, K, O, kWeightTypes[(K + T) % 3], 1, 2), K % 2 == 0, T % 2 == 0);
      }
    }
  });
}

TEST(MatMul, EveryWeightTypeUnaligned) {
  ForEachTarget([] {
    for (const DType type : kWeightTypes) {
      for (int64_t offset = 0; offset < 4; ++offset) {
        for (const int64_t T : {1, 4, 8, 33}) ExpectSame(Product(T, 288, 53, type, offset, 3), true, true);
      }
    }
  });
}

TEST(MatMul, ManyRows) {
  for (const DType type : kWeightTypes) ExpectSame(Product(600, 288, 100, type, 0, 4), true, false);
}

TEST(MatMul, ThreadsChangeNothing) {
  for (const DType type : kWeightTypes) {
    for (const int64_t T : {1, 3, 32, 65, 300, 520, 1100}) {
      const Product p(T, 320, 333, type, 0, 5);
      ExpectSameForAllThreadCounts([&] { return p.Run(false, true, true); });
    }
  }
}

}  // namespace
}  // namespace ghost
