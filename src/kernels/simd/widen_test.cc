#include "kernels/simd/widen.h"

#include <bit>

#include "kernels/kernel_testing.h"
#include "kernels/rows/gather.h"

namespace ghost {
namespace {

// Every bit pattern of the two 16-bit types, NaN payloads aside.
TEST(Widen, SixteenBitTypesAreExact) {
  std::vector<uint16_t> bits(65536 + 1);
  for (size_t i = 0; i < 65536; ++i) bits[i] = static_cast<uint16_t>(i);
  const std::byte* data = reinterpret_cast<const std::byte*>(bits.data());
  std::vector<float> out(65536);
  ForEachTarget([&] {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      Widen(WeightView(type, data, 1, 65536), out.data());
      for (size_t i = 0; i < 65536; ++i) {
        const float expected = type == DType::kF16 ? F32FromF16(static_cast<uint16_t>(i))
                                                   : F32FromBF16(static_cast<uint16_t>(i));
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(out[i])) << i;
        } else {
          ASSERT_EQ(std::bit_cast<uint32_t>(expected), std::bit_cast<uint32_t>(out[i])) << i;
        }
      }
    }
  });
}

TEST(Widen, EveryTypeSizeAndOffset) {
  Rng rng(1);
  ForEachTarget([&] {
    for (const DType type : kWeightTypes) {
      for (int64_t offset = 0; offset < 5; ++offset) {
        for (int64_t cols = 0; cols <= 70; ++cols) {
          if (cols % InfoOf(type).block_size != 0) continue;
          const StoredWeights w(type, 3, cols, rng, offset);
          std::vector<float> expected(static_cast<size_t>(3 * cols)), actual(expected.size());
          WidenElements(type, w.view.data, 0, 3 * cols, expected.data());
          Widen(w.view, actual.data());
          ASSERT_EQ(expected, actual) << NameOf(type) << " " << cols;
        }
      }
    }
  });
}

TEST(GatherRows, TakesTheRows) {
  Rng rng(2);
  std::vector<DType> types(std::begin(kWeightTypes), std::end(kWeightTypes));
  types.insert(types.end(), std::begin(kBlockTypes), std::end(kBlockTypes));
  for (const DType type : types) {
    const int64_t K = std::max(96, InfoOf(type).block_size);
    const StoredWeights table(type, 17, K, rng, 1);
    const std::vector<int32_t> ids = {16, 0, 3, 3, 9};
    std::vector<float> out(static_cast<size_t>(5 * (K + 4))), row(static_cast<size_t>(K));
    GatherRows(table.view, ids, View(out.data(), 5, K, K + 4));
    for (size_t t = 0; t < ids.size(); ++t) {
      WidenElements(type, table.view.Row(ids[t]), 0, K, row.data());
      EXPECT_TRUE(std::equal(row.begin(), row.end(), out.begin() + static_cast<int64_t>(t) * (K + 4)));
    }
    GatherRows(table.view, {}, View(out.data(), 0, K));
  }
}

}  // namespace
}  // namespace ghost
