// Helpers of the kernel tests: random data, misaligned buffers, and every instruction set this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "base/threads.h"
#include "tensor/view.h"

namespace ghost {

inline std::vector<float> RandomFloats(int64_t count, Rng& rng, double low = -1, double high = 1) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(rng.Uniform(low, high));
  return values;
}

// A weight matrix of any type with random values, stored `offset` bytes after an aligned start.
struct StoredWeights {
  StoredWeights(DType type, int64_t rows, int64_t cols, Rng& rng, int64_t offset = 0) {
    const DTypeInfo& info = InfoOf(type);
    bytes.resize(static_cast<size_t>(offset + rows * cols / info.block_size * info.block_bytes));
    std::byte* out = bytes.data() + offset;
    const auto put16 = [&](uint16_t bits) {
      std::memcpy(out, &bits, sizeof(bits));
      out += sizeof(bits);
    };
    for (int64_t i = 0; i < rows * cols; ++i) {
      const float value = static_cast<float>(rng.Uniform(-1, 1));
      if (type == DType::kF16) put16(F16FromF32(value));
      if (type == DType::kBF16) put16(BF16FromF32(value));
      if (type == DType::kQ8_0 && i % 32 == 0) put16(F16FromF32(0.01f + value * 0.005f));
      if (type == DType::kQ8_0) *out++ = static_cast<std::byte>(rng.Bits());
      if (type == DType::kF32) {
        std::memcpy(out, &value, sizeof(value));
        out += sizeof(value);
      }
    }
    view = WeightView(type, bytes.data() + offset, rows, cols);
  }
  std::vector<std::byte> bytes;
  WeightView view;
};

inline constexpr DType kWeightTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

// Runs `body` once per SIMD target that was compiled in and that this processor supports, the simplest last.
inline void ForEachTarget(const std::function<void()>& body) {
  for (int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
    if (testing::Test::HasFatalFailure()) break;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Runs `body`, which returns what it computed, with 1 to 4 threads and expects the same bits each time.
inline void ExpectSameForAllThreadCounts(const std::function<std::vector<float>()>& body) {
  SetThreads(1);
  const std::vector<float> one = body();
  for (int threads = 2; threads <= 4; ++threads) {
    SetThreads(threads);
    const std::vector<float> many = body();
    ASSERT_EQ(one.size(), many.size());
    EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0) << threads << " threads";
  }
  SetThreads(0);
}

// Largest |a - b| allowed: `tolerance` times the largest magnitude in `expected`.
inline void ExpectClose(const std::vector<float>& expected, const std::vector<float>& actual,
                        double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  double scale = 0;
  for (const float v : expected) scale = std::max(scale, std::fabs(double{v}));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], actual[i], tolerance * scale) << "at " << i << " of " << expected.size();
  }
}

}  // namespace ghost
