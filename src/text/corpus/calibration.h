// Calibration samples: windows of a long token stream.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ghost {

enum class WindowSampler {
  kRandom,      // random starts, as in common Python pruning code: random.seed(seed); randint(0, T-L-1)
  kSequential,  // the first windows, one after the other
};
std::string_view NameOf(WindowSampler sampler);
// "random-windows" or "sequential"; Error(kUsage) for any other name.
WindowSampler WindowSamplerFromName(std::string_view name);

// `samples` windows of `length` tokens. A stream that is too short is Error(kUsage).
std::vector<std::vector<int32_t>> SampleWindows(std::span<const int32_t> tokens, WindowSampler sampler,
                                                int64_t samples, int64_t length, uint64_t seed);

}  // namespace ghost
