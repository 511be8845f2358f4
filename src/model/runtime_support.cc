#include "model/runtime_support.h"

#include <algorithm>

namespace ghost {
namespace {

// One N for all groups of all layers, or -1.
int UniformState(const ModelConfig& config) {
  int uniform = -1;
  for (const BlockDims& dims : config.blocks) {
    for (int g = 0; g < dims.num_groups(); ++g) {
      if (uniform == -1) uniform = dims.group_size(g);
      if (dims.group_size(g) != uniform) return -1;
    }
  }
  return uniform;
}

bool IsPowerOfTwo(int n) { return n > 0 && (n & (n - 1)) == 0; }

RuntimeVerdict GpuKernels(const BlockDims& d, int N) {
  const std::string name = "mamba_ssm, vLLM (GPU)";
  // causal_conv1d wants the channel count and the row stride of the projection in multiples of 8.
  if (d.conv_channels() % 8 != 0 || d.in_proj_rows() % 8 != 0) {
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
  const int N = UniformState(config);
  if (N < 1) {
    verdicts.push_back(
        {"all others", Support::kNo, "layers or groups keep different numbers of state channels"});
    return verdicts;
  }
  const BlockDims& d = config.blocks.front();
  verdicts.push_back({"transformers (CPU path)", Support::kFast, ""});
  verdicts.push_back(GpuKernels(d, N));
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

}  // namespace ghost
