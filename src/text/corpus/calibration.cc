#include "text/corpus/calibration.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/python_random.h"

namespace ghost {

std::string_view NameOf(WindowSampler sampler) {
  return sampler == WindowSampler::kRandom ? "random-windows" : "sequential";
}

WindowSampler WindowSamplerFromName(std::string_view name) {
  for (const WindowSampler sampler : {WindowSampler::kRandom, WindowSampler::kSequential}) {
    if (NameOf(sampler) == name) return sampler;
  }
  throw Error(
      ErrorKind::kUsage, "no such sampler",
      {.expected = "random-windows or sequential", .actual = std::string(name), .setting = "sampler"});
}

std::vector<std::vector<int32_t>> SampleWindows(std::span<const int32_t> tokens, WindowSampler sampler,
                                                int64_t samples, int64_t length, uint64_t seed) {
  const auto total = static_cast<int64_t>(tokens.size());
  if (samples < 1 || length < 1) {
    throw Error(ErrorKind::kUsage, "calibration needs at least one sample of one token",
                {.actual = fmt::format("{} samples of {} tokens", samples, length)});
  }
  const bool random = sampler == WindowSampler::kRandom;
  const int64_t needed = random ? length + 1 : samples * length;
  if (total < needed) {
    throw Error(ErrorKind::kUsage, "calibration text is too short",
                {.expected = fmt::format("at least {} tokens", needed),
                 .actual = fmt::format("{} tokens", total),
                 .hint = "give more text, or fewer or shorter samples",
                 .setting = "length"});
  }
  PythonRandom rng(seed);
  std::vector<std::vector<int32_t>> windows;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t start = random ? rng.RandInt(0, total - length - 1) : i * length;
    windows.emplace_back(tokens.begin() + start, tokens.begin() + start + length);
  }
  return windows;
}

}  // namespace ghost
