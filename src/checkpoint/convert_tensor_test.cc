#include "checkpoint/convert_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/q8_0.h"

namespace ghost {
namespace {

TEST(Convert, NarrowingKeepsNanAndRefusesOverflow) {
  const std::vector<float> fine = {1.0f, -65504.0f, NAN, INFINITY, 1e-9f};
  const std::vector<float> half = ToFloats(ConvertTensor(MakeTensor(Shape{5}, fine), DType::kF16, "w"));
  EXPECT_EQ(half[0], 1.0f);
  EXPECT_EQ(half[1], -65504.0f);
  EXPECT_TRUE(std::isnan(half[2]));
  EXPECT_TRUE(std::isinf(half[3]));
  EXPECT_TRUE(std::isnan(ToFloats(ConvertTensor(MakeTensor(Shape{5}, fine), DType::kBF16, "w"))[2]));
  const auto refused = [](const std::vector<float>& values, DType dtype) {
    try {
      ConvertTensor(MakeTensor(Shape{static_cast<int64_t>(values.size())}, values), dtype, "blk.3.w");
      ADD_FAILURE() << NameOf(dtype);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUnsupported);
      EXPECT_EQ(e.context().tensor, "blk.3.w");
    }
  };
  refused({1.0f, 7e4f}, DType::kF16);
  refused(std::vector<float>(31, 1.0f), DType::kQ8_0);
  refused(std::vector<float>(32, NAN), DType::kQ8_0);
}

TEST(Convert, PiecesAreTheWhole) {
  std::vector<float> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.37f - 15000.0f;
  const Tensor tensor = MakeTensor(Shape{3125, 32}, values);
  const std::vector<float> bf16 = ToFloats(ConvertTensor(tensor, DType::kBF16, "w"));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(bf16[i], F32FromBF16(BF16FromF32(values[i])));
  std::vector<std::byte> blocks(values.size() / 32 * 34);
  QuantizeRowQ8_0(values, blocks.data());
  EXPECT_TRUE(std::ranges::equal(ConvertTensor(tensor, DType::kQ8_0, "w").bytes(), blocks));
}

TEST(Convert, DecayRatesGoThereAndBack) {
  const std::vector<float> a_log = {-3.0f, 0.0f, 0.5f, 2.7725887f};
  const Tensor back = MakeALog(MakeA(MakeTensor(Shape{4}, a_log)), "ssm_a");
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(ToFloats(back)[i], a_log[i], 2e-7f * std::max(1.0f, a_log[i]));
  EXPECT_THROW(MakeALog(MakeTensor(Shape{1}, std::vector<float>{0.5f}), "ssm_a"), Error);
  EXPECT_THROW(MakeALog(MakeTensor(Shape{1}, std::vector<float>{NAN}), "ssm_a"), Error);
}

}  // namespace
}  // namespace ghost
