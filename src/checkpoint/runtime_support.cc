#include "checkpoint/runtime_support.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/family.h"
#include "checkpoint/remote_code.h"

namespace ghost {
namespace {

bool IsPowerOfTwo(int n) { return n > 0 && (n & (n - 1)) == 0; }

// causal_conv1d wants the channel count and the row stride of the projection in multiples of 8.
bool FitsCausalConv(const MixerDims& d) { return d.conv_channels() % 8 == 0 && d.in_proj_rows() % 8 == 0; }

RuntimeVerdict GpuKernels(const MixerDims& d, int N) {
  const std::string name = "mamba_ssm, vLLM (GPU)";
  if (!FitsCausalConv(d)) {
    return {name, Support::kNo, "causal_conv1d needs R+2GN and 2R+2GN+H to be multiples of 8"};
  }
  if (!IsPowerOfTwo(N)) return {name, Support::kSlow, "state tiles are rounded up to a power of two"};
  return {name, Support::kFast, ""};
}

RuntimeVerdict LlamaCpu(const MixerDims& d, int N) {
  const std::string name = "llama.cpp (CPU)";
  if (d.in_proj_rows() % 4 != 0)
    return {name, Support::kSlow, "projection rows not a multiple of 4: no tiled product"};
  if (N % 64 == 0) return {name, Support::kFast, ""};
  if (N % 32 == 0) return {name, Support::kSlow, "full speed with AVX2; AVX-512 takes 64 channels at a time"};
  return {name, Support::kSlow, "the remainder of N by 32 (AVX2) or 64 (AVX-512) runs as scalar code"};
}

RuntimeVerdict LlamaGpu(const MixerDims& d, int N) {
  const std::string name = "llama.cpp (CUDA, Vulkan)";
  if (N != 128 && N != 256)
    return {name, Support::kSlow, "its scan takes N = 128 or 256 only; others run on the CPU"};
  if (d.head_dim % 16 != 0)
    return {name, Support::kSlow, "its scan takes heads in multiples of 16 only; others run on the CPU"};
  if (d.conv_channels() % 128 != 0)
    return {name, Support::kSlow,
            "CUDA's convolution needs R+2GN to be a multiple of 128; others run on the CPU"};
  return {name, Support::kFast, ""};
}

// The worst that a runtime says of any mixer.
template <class Judge>
RuntimeVerdict Worst(const ModelConfig& config, Judge judge) {
  RuntimeVerdict worst = judge(config.mixers.front());
  for (const MixerDims& dims : config.mixers) {
    RuntimeVerdict verdict = judge(dims);
    if (verdict.support > worst.support) worst = std::move(verdict);
  }
  return worst;
}

// What a runtime's kernels ask of N, and what happens otherwise.
struct StateRule {
  const char* needs;  // with the runtime's name
  const char* otherwise;
  bool runs_gguf;  // knows only families with a GGUF form
  bool (*holds)(const MixerDims& d, int N);
};

constexpr StateRule kStateRules[] = {
    {"mamba_ssm and vLLM on a GPU (causal_conv1d) need R+2GN and 2R+2GN+H in multiples of 8",
     "they refuse it", /*runs_gguf=*/false, [](const MixerDims& d, int) { return FitsCausalConv(d); }},
    {"MLX and Metal need a multiple of 32", "they refuse it", /*runs_gguf=*/true,
     [](const MixerDims&, int N) { return N % 32 == 0; }},
    {"llama.cpp on a GPU (CUDA, Vulkan) scans N = 128 or 256", "the scan runs on the CPU",
     /*runs_gguf=*/true, [](const MixerDims&, int N) { return N == 128 || N == 256; }},
    {"llama.cpp on a CPU with AVX-512 takes 64 channels at a time (AVX2: 32)",
     "the remainder runs as scalar code", /*runs_gguf=*/true,
     [](const MixerDims&, int N) { return N % 64 == 0; }},
};

// "nearest that fits: 88 below, 92 above", or what there is of it.
std::string NearestFit(const StateRule& rule, const MixerDims& dims, int N) {
  const auto fits = [&](int n) {
    MixerDims other = dims;
    other.SetGroups(UniformGroups(dims.num_groups(), n));
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
    if (const RemoteCode* code = RemoteCodeFor(config)) {
      verdicts.push_back({"transformers (trust_remote_code)", Support::kSlow,
                          code->file() + " is plain PyTorch, without kernels of its own"});
    }
    verdicts.push_back(
        {"all others", Support::kNo, "layers or groups keep different numbers of state channels"});
    return verdicts;
  }
  verdicts.push_back({"transformers (CPU path)", Support::kFast, ""});
  verdicts.push_back(Worst(config, [&](const MixerDims& d) { return GpuKernels(d, N); }));
  const Family& family = FamilyOf(config);
  if (!family.gguf) {
    verdicts.push_back({"llama.cpp", Support::kNo, "knows no " + std::string(family.title)});
    return verdicts;
  }
  const bool metal = N % 32 == 0;
  verdicts.push_back(
      {"MLX, Metal", metal ? Support::kFast : Support::kNo, metal ? "" : "N must be a multiple of 32"});
  const auto plain = [](const MixerDims& d) { return !d.in_bias && !d.out_bias && d.conv_bias; };
  if (!std::ranges::all_of(config.mixers, plain)) {
    verdicts.push_back({"llama.cpp", Support::kNo, "needs a convolution bias and knows no projection bias"});
    return verdicts;
  }
  if (const std::string why = family.gguf->why_not ? family.gguf->why_not(config) : ""; !why.empty()) {
    verdicts.push_back({"llama.cpp", Support::kNo, "does not know " + why});
    return verdicts;
  }
  verdicts.push_back(Worst(config, [&](const MixerDims& d) { return LlamaCpu(d, N); }));
  verdicts.push_back(Worst(config, [&](const MixerDims& d) { return LlamaGpu(d, N); }));
  return verdicts;
}

std::vector<std::string> AdviseStateSize(const ModelConfig& pruned) {
  const int N = UniformStateSize(pruned);
  if (N < 1) {
    const char* readers = RemoteCodeFor(pruned)
                              ? "only ghost, and transformers with trust_remote_code, read such a model"
                              : "only ghost reads such a model";
    return {fmt::format("layers or groups keep different numbers of state channels: {}", readers)};
  }
  std::vector<std::string> advice;
  for (const StateRule& rule : kStateRules) {
    if (rule.runs_gguf && !FamilyOf(pruned).gguf) continue;
    const auto unhappy =
        std::ranges::find_if(pruned.mixers, [&](const MixerDims& d) { return !rule.holds(d, N); });
    if (unhappy == pruned.mixers.end()) continue;
    advice.push_back(
        fmt::format("N = {}: {}; {}; {}", N, rule.needs, rule.otherwise, NearestFit(rule, *unhappy, N)));
  }
  return advice;
}

}  // namespace ghost
