#include "checkpoint/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "tensor/tensor.h"

namespace ghost {
namespace {

constexpr DType kTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ5_0,  DType::kQ4_K,
                            DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL};

std::vector<std::byte> Quantized(DType type, const std::vector<float>& values) {
  const DTypeInfo& info = InfoOf(type);
  std::vector<std::byte> bytes(values.size() / static_cast<size_t>(info.block_size) *
                               static_cast<size_t>(info.block_bytes));
  QuantizeBlocks(type, values, bytes.data());
  return bytes;
}

std::vector<float> RoundTrip(DType type, const std::vector<float>& values) {
  std::vector<float> back(values.size());
  const std::vector<std::byte> bytes = Quantized(type, values);
  WidenElements(type, bytes.data(), 0, static_cast<int64_t>(back.size()), back.data());
  return back;
}

std::vector<float> NormalValues(size_t count, double scale) {
  Rng rng(5);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(scale * rng.Normal());
  return values;
}

double RelativeError(const std::vector<float>& expected, const std::vector<float>& actual) {
  double error = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(double{actual[i]} - expected[i], 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(error / size);
}

// Relative errors of normally distributed weights, a few percent above what the search reaches. Q4_0 with the
// largest magnitude as its only candidate gives 0.0859.
TEST(Quantize, ErrorsOfNormalWeights) {
  const std::vector<float> values = NormalValues(256 * 64, 0.02);
  const auto error = [&](DType type) { return RelativeError(values, RoundTrip(type, values)); };
  EXPECT_LT(error(DType::kQ8_0), 0.0056);
  EXPECT_LT(error(DType::kQ6_K), 0.0185);
  EXPECT_LT(error(DType::kQ5_K), 0.0375);
  EXPECT_LT(error(DType::kQ5_0), 0.0435);
  EXPECT_LT(error(DType::kQ4_K), 0.075);
  EXPECT_LT(error(DType::kIQ4_NL), 0.080);
  EXPECT_LT(error(DType::kQ4_0), 0.0855);
}

TEST(Quantize, ValuesOnTheGridAreExact) {
  for (const DType type : kTypes) {
    std::vector<float> values(512);
    for (size_t i = 0; i < values.size(); ++i) {
      const int k = static_cast<int>(i);
      values[i] = type == DType::kIQ4_NL ? (k % 2 ? 13.0f : -127.0f)
                  : k % 16 == 0          ? -8.0f
                                         : static_cast<float>(k * 7 % 15 - 7);
      if (type == DType::kQ4_K || type == DType::kQ5_K) values[i] = static_cast<float>(k * 7 % 16) - 5.0f;
    }
    const double tolerance = type == DType::kQ8_0 || type == DType::kQ6_K ? 0.01 : 0.002;
    EXPECT_LT(RelativeError(values, RoundTrip(type, values)), tolerance) << NameOf(type);
  }
}

TEST(Quantize, ZerosTinyAndOneSidedBlocksStayFinite) {
  for (const DType type : kTypes) {
    EXPECT_EQ(RoundTrip(type, std::vector<float>(256, 0.0f)), std::vector<float>(256, 0.0f)) << NameOf(type);
    for (const float value : {1e-30f, -1e-30f, 1e-7f, 3.0f, -3.0f}) {
      std::vector<float> values(256, value);
      values[7] *= 0.5f;
      for (const float back : RoundTrip(type, values)) {
        EXPECT_LE(std::fabs(back), 1.3f * std::fabs(value) + 1e-6f) << NameOf(type) << " " << value;
      }
    }
  }
}

TEST(Quantize, RefusesWhatHasNoScale) {
  for (const DType type : kTypes) {
    for (const float value : {NAN, INFINITY, -INFINITY, 3e38f}) {
      std::vector<float> values(256, 1.0f);
      values[100] = value;
      EXPECT_THROW(Quantized(type, values), Error) << NameOf(type) << " " << value;
    }
  }
}

}  // namespace
}  // namespace ghost
