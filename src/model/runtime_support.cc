#include "model/runtime_support.h"

#include <fmt/format.h>

namespace ghost {
namespace {

bool IsPowerOfTwo(int n) { return n > 0 && (n & (n - 1)) == 0; }

// causal_conv1d wants the channel count and the row stride of the projection in multiples of 8.
bool FitsCausalConv(const BlockDims& d) { return d.conv_channels() % 8 == 0 && d.in_proj_rows() % 8 == 0; }

RuntimeVerdict GpuKernels(const BlockDims& d, int N) {
  const std::string name = "mamba_ssm, vLLM (GPU)";
  if (!FitsCausalConv(d)) {
    return {name, Support::kNo, "causal_conv1d needs R+2GN and 2R+2GN+H to be multiples of 8"};
  }
  if (!IsPowerOfTwo(N)) return {name, Support::kSlow, "state tiles are rounded up to a power of two"};
  return {name, Support::kFast, ""};
}

RuntimeVerdict LlamaCpu(const BlockDims& d, int N) {
  const std::string name = "llama.cpp (CPU)";
  if (d.in_proj_rows() % 4 != 0)
    return {name, Support::kSlow, "projection rows not a multiple of 4: no tiled product"};
  if (N % 64 == 0) return {name, Support::kFast, ""};
  if (N % 32 == 0) return {name, Support::kSlow, "full speed with AVX2; AVX-512 takes 64 channels at a time"};
  return {name, Support::kSlow, "the remainder of N by 32 (AVX2) or 64 (AVX-512) runs as scalar code"};
}

// What a runtime's kernels ask of N, and what happens otherwise.
struct StateRule {
  const char* needs;  // with the runtime's name
  const char* otherwise;
  bool knows_zamba2;
  bool (*holds)(const BlockDims& d, int N);
};

constexpr StateRule kStateRules[] = {
    {"mamba_ssm and vLLM on a GPU (causal_conv1d) need R+2GN and 2R+2GN+H in multiples of 8",
     "they refuse it", /*knows_zamba2=*/true, [](const BlockDims& d, int) { return FitsCausalConv(d); }},
    {"MLX and Metal need a multiple of 32", "they refuse it", /*knows_zamba2=*/false,
     [](const BlockDims&, int N) { return N % 32 == 0; }},
    {"llama.cpp on a GPU (CUDA, Vulkan) scans N = 128 or 256", "the scan runs on the CPU",
     /*knows_zamba2=*/false, [](const BlockDims&, int N) { return N == 128 || N == 256; }},
    {"llama.cpp on a CPU with AVX-512 takes 64 channels at a time (AVX2: 32)",
     "the remainder runs as scalar code", /*knows_zamba2=*/false,
     [](const BlockDims&, int N) { return N % 64 == 0; }},
};

// "nearest that fits: 88 below, 92 above", or what there is of it.
std::string NearestFit(const StateRule& rule, const BlockDims& dims, int N) {
  const auto fits = [&](int n) {
    BlockDims other = dims;
    other.group_begin = UniformGroups(dims.num_groups(), n);
    return rule.holds(other, n);
  };
  constexpr int kLargest = 256;
  int below = N - 1, above = N + 1;
  while (below > 0 && !fits(below)) --below;
  while (above <= kLargest && !fits(above)) ++above;
  const std::string low = below > 0 ? fmt::format("{} below", below) : "none below";
  const std::string high = above <= kLargest ? fmt::format("{} above", above) : "none above";
  return below > 0 || above <= kLargest ? "nearest that fits: " + low + ", " + high : "no N fits";
}

}  // namespace

std::string_view NameOf(Support support) {
  switch (support) {
    case Support::kFast:
      return "yes";
    case Support::kSlow:
      return "slow";
    case Support::kNo:
      return "no";
  }
  return "?";
}

std::vector<RuntimeVerdict> RuntimesFor(const ModelConfig& config) {
  std::vector<RuntimeVerdict> verdicts = {{"ghost", Support::kFast, ""}};
  const int N = UniformStateSize(config);
  if (N < 1) {
    verdicts.push_back(
        {"all others", Support::kNo, "layers or groups keep different numbers of state channels"});
    return verdicts;
  }
  const BlockDims& d = config.blocks.front();
  verdicts.push_back({"transformers (CPU path)", Support::kFast, ""});
  verdicts.push_back(GpuKernels(d, N));
  if (config.family == Family::kZamba2) {
    verdicts.push_back({"llama.cpp", Support::kNo, "knows no Zamba2"});
    return verdicts;
  }
  const bool metal = N % 32 == 0;
  verdicts.push_back(
      {"MLX, Metal", metal ? Support::kFast : Support::kNo, metal ? "" : "N must be a multiple of 32"});
  if (config.projection_bias || !config.conv_bias) {
    verdicts.push_back({"llama.cpp", Support::kNo, "needs a convolution bias and knows no projection bias"});
    return verdicts;
  }
  verdicts.push_back(LlamaCpu(d, N));
  const bool gpu = (N == 128 || N == 256) && d.head_dim % 16 == 0;
  verdicts.push_back({"llama.cpp (CUDA, Vulkan)", gpu ? Support::kFast : Support::kSlow,
                      gpu ? "" : "its scan takes N = 128 or 256 only; others run on the CPU"});
  return verdicts;
}

std::vector<std::string> AdviseStateSize(const ModelConfig& pruned) {
  const int N = UniformStateSize(pruned);
  if (N < 1) {
    return {"layers or groups keep different numbers of state channels: only ghost reads such a model"};
  }
  const BlockDims& dims = pruned.blocks.front();
  std::vector<std::string> advice;
  for (const StateRule& rule : kStateRules) {
    if (rule.holds(dims, N) || (pruned.family == Family::kZamba2 && !rule.knows_zamba2)) continue;
    advice.push_back(
        fmt::format("N = {}: {}; {}; {}", N, rule.needs, rule.otherwise, NearestFit(rule, dims, N)));
  }
  return advice;
}

}  // namespace ghost
