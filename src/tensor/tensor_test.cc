#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tensor/view.h"

namespace ghost {
namespace {

TEST(DType, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float wide = F32FromF16(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(F32FromF16(F16FromF32(wide))));
    } else {
      ASSERT_EQ(F16FromF32(wide), half) << bits;
    }
    const float brain = F32FromBF16(half);
    if (!std::isnan(brain)) {
      ASSERT_EQ(BF16FromF32(brain), half) << bits;
    }
  }
}

TEST(DType, RoundingIsToNearestEven) {
  EXPECT_EQ(F16FromF32(1.0f + 0x1.0p-11f), 0x3c00);      // half way, even below
  EXPECT_EQ(F16FromF32(1.0f + 3 * 0x1.0p-11f), 0x3c02);  // half way, even above
  EXPECT_EQ(F16FromF32(65519.996f), 0x7bff);             // largest finite
  EXPECT_EQ(F16FromF32(65520.0f), 0x7c00);               // rounds to infinity
  EXPECT_EQ(F16FromF32(0x1.0p-25f), 0x0000);             // half of the smallest subnormal, to even
  EXPECT_EQ(F16FromF32(0x1.8p-25f), 0x0001);
  EXPECT_EQ(F16FromF32(-0.0f), 0x8000);
  EXPECT_EQ(BF16FromF32(1.0f + 0x1.0p-8f), 0x3f80);
  EXPECT_EQ(BF16FromF32(1.0f + 3 * 0x1.0p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(F32FromBF16(BF16FromF32(std::nanf("")))));
}

TEST(Shape, BytesAreCheckedForOverflowAndBlocks) {
  EXPECT_EQ(CheckedBytes(Shape{3, 4}, DType::kF32), 48u);
  EXPECT_EQ(CheckedBytes(Shape{}, DType::kF64), 8u);
  EXPECT_EQ(CheckedBytes(Shape{0, int64_t{1} << 40, int64_t{1} << 40}, DType::kF32), 0u);
  EXPECT_EQ(CheckedBytes(Shape{2, 64}, DType::kQ8_0), 136u);
  EXPECT_FALSE(CheckedBytes(Shape{2, 33}, DType::kQ8_0));
  EXPECT_FALSE(CheckedBytes(Shape{int64_t{1} << 32, int64_t{1} << 32}, DType::kU8));
  EXPECT_FALSE(CheckedBytes(Shape{int64_t{1} << 62}, DType::kF64));
  EXPECT_FALSE(CheckedBytes(Shape{-1}, DType::kF32));
  EXPECT_EQ((Shape{3352, 768}).ToString(), "(3352, 768)");
}

TEST(Tensor, WidensQ8BlocksAtUnalignedAddresses) {
  std::vector<std::byte> bytes(1 + 2 * 34);
  for (int block = 0; block < 2; ++block) {
    std::byte* at = bytes.data() + 1 + block * 34;
    const uint16_t scale = F16FromF32(block == 0 ? 0.5f : 0.25f);
    std::memcpy(at, &scale, 2);
    for (int i = 0; i < 32; ++i) at[2 + i] = static_cast<std::byte>(static_cast<int8_t>(i - 16));
  }
  std::vector<float> out(64);
  WidenElements(DType::kQ8_0, bytes.data() + 1, 0, 64, out.data());
  EXPECT_EQ(out[0], -8.0f);
  EXPECT_EQ(out[31], 7.5f);
  EXPECT_EQ(out[32], -4.0f);
  WidenElements(DType::kQ8_0, bytes.data() + 1, 32, 32, out.data());
  EXPECT_EQ(out[31], 3.75f);
}

TEST(Tensor, CopiesShareBytesAndRefuseTypesWithoutArithmetic) {
  const std::vector<int64_t> ids = {1, 2, 3};
  const Tensor tensor = MakeTensor(Shape{3}, ids);
  const Tensor copy = tensor.Reshaped(Shape{3, 1});
  EXPECT_EQ(copy.data(), tensor.data());
  EXPECT_THROW(ToFloats(tensor), Error);
}

TEST(View, RowsAndColumnsShareTheData) {
  std::vector<float> data(12);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const View all(data.data(), 3, 4);
  const ConstView part = all.Rows(1, 2).Cols(1, 2);
  EXPECT_EQ(part.Row(1)[1], 10.0f);
  EXPECT_EQ(part.stride, 4);
}

}  // namespace
}  // namespace ghost
