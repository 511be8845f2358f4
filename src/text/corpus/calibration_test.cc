#include "text/corpus/calibration.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"

namespace ghost {
namespace {

TEST(Calibration, WindowsStartWherePythonWouldStartThem) {
  std::vector<int32_t> tokens(2000000 + 3 + 1);
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto windows = SampleWindows(tokens, WindowSampler::kRandom, 3, 3, 42);  // randint(0, 2000000)
  EXPECT_EQ(windows[0], (std::vector<int32_t>{1340975, 1340976, 1340977}));
  EXPECT_EQ(windows[1][0], 233478);
  EXPECT_EQ(windows[2][0], 52451);
}

TEST(Calibration, SequentialWindowsDoNotOverlap) {
  std::vector<int32_t> tokens(10);
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto windows = SampleWindows(tokens, WindowSampler::kSequential, 3, 3, 1);
  EXPECT_EQ(windows[2], (std::vector<int32_t>{6, 7, 8}));
}

TEST(Calibration, TooLittleTextAndBadNumbersAreRefused) {
  const std::vector<int32_t> tokens(10);
  EXPECT_NO_THROW(SampleWindows(tokens, WindowSampler::kRandom, 100, 9, 0));
  EXPECT_THROW(SampleWindows(tokens, WindowSampler::kRandom, 1, 10, 0), Error);
  EXPECT_THROW(SampleWindows(tokens, WindowSampler::kSequential, 3, 4, 0), Error);
  EXPECT_THROW(SampleWindows({}, WindowSampler::kRandom, 1, 1, 0), Error);
  EXPECT_THROW(SampleWindows(tokens, WindowSampler::kRandom, 0, 4, 0), Error);
  EXPECT_THROW(WindowSamplerFromName("stratified"), Error);
}

}  // namespace
}  // namespace ghost
