#include "io/q8_0.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

namespace ghost {
namespace {

struct Block {
  uint16_t scale;
  std::vector<int> q;
};

// The block of 32 values that starts with the given ones; the others are zero.
Block Quantised(std::vector<float> values) {
  values.resize(32);
  std::vector<std::byte> bytes(34);
  QuantizeRowQ8_0(values, bytes.data());
  Block block{
      .scale = static_cast<uint16_t>(std::to_integer<int>(bytes[0]) | std::to_integer<int>(bytes[1]) << 8),
      .q = {}};
  for (size_t i = 0; i < 32; ++i) block.q.push_back(static_cast<int8_t>(bytes[2 + i]));
  return block;
}

TEST(Q8_0, ScaleIsTheLargestOver127) {
  const Block block = Quantised({127.0f, -127.0f, 1.0f, -1.0f, 0.4f, 0.5f, -0.5f, 1.5f});
  EXPECT_EQ(block.scale, 0x3c00);  // 1.0
  EXPECT_EQ(std::vector<int>(block.q.begin(), block.q.begin() + 8),
            (std::vector<int>{127, -127, 1, -1, 0, 1, -1, 2}));  // ties away from zero
}

TEST(Q8_0, RoundsWithTheScaleBeforeHalfPrecision) {
  // d = 0.1 / 127 is not a half; q of the largest value is 127 only with the unrounded d.
  const Block block = Quantised({0.1f, -0.05f});
  EXPECT_EQ(block.q[0], 127);
  EXPECT_EQ(block.q[1], -64);  // -63.5
  EXPECT_EQ(block.scale, F16FromF32(0.1f / 127.0f));
}

// As ggml does: where the inverse of d is rounded, the product can be on the other side of a half.
TEST(Q8_0, MultipliesByTheInverseOfTheScale) {
  const float x = 0x1.20fa46p-12f, d = 0.01f / 127.0f;
  EXPECT_EQ(std::round(x / d), 3.0f);
  EXPECT_EQ(Quantised({0.01f, x, -x}).q[1], 4);
  EXPECT_EQ(Quantised({0.01f, x, -x}).q[2], -4);
}

TEST(Q8_0, ZerosAndTinyValuesStayFinite) {
  const Block zero = Quantised({});
  EXPECT_EQ(zero.scale, 0);
  EXPECT_EQ(zero.q[0], 0);
  // 180 units of the smallest subnormal: the scale rounds to one unit, 180 would not fit a signed byte.
  const Block tiny = Quantised({180 * std::numeric_limits<float>::denorm_min()});
  EXPECT_EQ(tiny.scale, 0);
  EXPECT_EQ(tiny.q[0], 127);
}

TEST(Q8_0, RefusesWhatHasNoScale) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf(""), 1e7f}) {
    EXPECT_THROW(Quantised({1.0f, bad}), Error) << bad;
  }
  EXPECT_EQ(Quantised({8.3e6f}).q[0], 127);
}

TEST(Q8_0, EachBlockHasItsOwnScaleAndSmallErrors) {
  std::vector<float> values(4 * 32);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto noise = static_cast<float>(i * 2654435761u % 1000) / 500.0f - 1.0f;
    values[i] = noise * std::pow(10.0f, static_cast<float>(i / 32) - 2.0f);
  }
  std::vector<std::byte> bytes(4 * 34);
  QuantizeRowQ8_0(values, bytes.data());
  std::vector<float> back(values.size());
  WidenElements(DType::kQ8_0, bytes.data(), 0, static_cast<int64_t>(values.size()), back.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const float largest = std::pow(10.0f, static_cast<float>(i / 32) - 2.0f);
    // Half a step of rounding, and 2^-11 of the value for the scale's own rounding.
    EXPECT_NEAR(back[i], values[i], largest / 127.0f * 0.5f + largest * 0x1.0p-10f) << i;
  }
}

}  // namespace
}  // namespace ghost
