// Helpers of the kernel tests: random data, misaligned buffers, and every instruction set this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <span>
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
      if (type == DType::kF32) {
        std::memcpy(out, &value, sizeof(value));
        out += sizeof(value);
      }
    }
    if (IsBlockType(type)) FillBlocks(info, std::span(bytes).subspan(static_cast<size_t>(offset)), rng);
    view = WeightView(type, bytes.data() + offset, rows, cols);
  }
  // Any bytes are a block, as long as its half-precision numbers are finite.
  static void FillBlocks(const DTypeInfo& info, std::span<std::byte> blocks, Rng& rng) {
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(rng.Bits());
    const bool minima = info.dtype == DType::kQ4_K || info.dtype == DType::kQ5_K;
    const size_t at = info.dtype == DType::kQ6_K ? 208 : 0, size = static_cast<size_t>(info.block_bytes);
    for (; !blocks.empty(); blocks = blocks.subspan(size)) {
      for (size_t i = at; i <= at + (minima ? 2 : 0); i += 2) {
        const uint16_t half = F16FromF32(static_cast<float>(rng.Uniform(0.005, 0.015)));
        std::memcpy(blocks.data() + i, &half, sizeof(half));
      }
    }
  }
  std::vector<std::byte> bytes;
  WeightView view;
};

// One type of each kind, with the smallest blocks; and all types of blocks.
inline constexpr DType kWeightTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};
inline constexpr DType kBlockTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ5_0,  DType::kQ4_K,
                                        DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL};

// Runs `body` once per SIMD target that was compiled in and that this processor supports, the simplest last,
// as if that were the best one. A source that was not compiled for it (int8_product_simd.cc has one more than
// the others) then runs its next simpler one.
inline void ForEachTarget(const std::function<void()>& body) {
  int64_t compiled = HWY_TARGETS;
#if HWY_ARCH_X86 && !defined(HWY_COMPILE_ONLY_STATIC)
  compiled |= HWY_AVX3_DL;
#endif
  for (int64_t targets = hwy::SupportedTargets() & compiled; targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(targets);
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
