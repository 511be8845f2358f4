#include "checkpoint/runtime_support.h"

#include <gtest/gtest.h>

#include <string>

#include "checkpoint/family.h"

namespace ghost {
namespace {

TEST(RuntimeSupport, FollowsTheRulesOfTheOthersKernels) {
  const auto verdict = [](int N, const std::string& runtime) {
    ModelConfig config = ReleasedConfig("mamba2-130m");
    for (MixerDims& d : config.mixers) d.SetGroups(UniformGroups(1, N));
    for (const RuntimeVerdict& v : RuntimesFor(config)) {
      if (v.runtime == runtime) return v.support;
    }
    return Support::kNo;
  };
  EXPECT_EQ(verdict(128, "llama.cpp (CUDA, Vulkan)"), Support::kFast);
  EXPECT_EQ(verdict(64, "llama.cpp (CUDA, Vulkan)"), Support::kSlow);
  EXPECT_EQ(verdict(64, "llama.cpp (CPU)"), Support::kFast);
  EXPECT_EQ(verdict(77, "llama.cpp (CPU)"), Support::kSlow);
  EXPECT_EQ(verdict(64, "mamba_ssm, vLLM (GPU)"), Support::kFast);
  EXPECT_EQ(verdict(72, "mamba_ssm, vLLM (GPU)"), Support::kSlow);
  EXPECT_EQ(verdict(90, "mamba_ssm, vLLM (GPU)"), Support::kNo);
  EXPECT_EQ(verdict(96, "MLX, Metal"), Support::kFast);
}

TEST(RuntimeSupport, AdviceNamesTheNextBetterStateSizes) {
  const auto advice = [](int N) {
    ModelConfig config = ReleasedConfig("mamba2-130m");
    for (MixerDims& d : config.mixers) d.SetGroups(UniformGroups(1, N));
    std::string all;
    for (const std::string& line : AdviseStateSize(config)) all += line + "\n";
    return all;
  };
  EXPECT_EQ(advice(128), "");
  EXPECT_EQ(advice(256), "");
  const std::string odd = advice(90);
  for (const char* part : {"causal_conv1d", "88 below, 92 above", "Metal", "64 below, 96 above", "AVX-512",
                           "64 below, 128 above", "none below, 128 above"}) {
    EXPECT_NE(odd.find(part), std::string::npos) << part << "\n" << odd;
  }
  const std::string half = advice(64);
  EXPECT_EQ(half.find("Metal"), std::string::npos) << half;
  EXPECT_NE(half.find("CUDA"), std::string::npos) << half;
  ModelConfig ragged = ReleasedConfig("mamba2-130m");
  ragged.mixers[3].SetGroups({0, 64});
  ASSERT_EQ(AdviseStateSize(ragged).size(), 1u);
  EXPECT_NE(AdviseStateSize(ragged)[0].find("only ghost, and transformers with trust_remote_code"),
            std::string::npos);
  ragged.layout = Layout::kStateSpaces;
  EXPECT_NE(AdviseStateSize(ragged)[0].find("only ghost reads"), std::string::npos);
}

TEST(RuntimeSupport, UnequalLayersAreForGhostAndForModelsWithCodeOfOurs) {
  const auto runtimes = [](std::string_view name) {
    ModelConfig config = ReleasedConfig(name);
    config.mixers[3].SetGroups(UniformGroups(config.mixers[3].num_groups(), 20));
    std::string all;
    for (const RuntimeVerdict& v : RuntimesFor(config)) all += v.runtime + "; ";
    return all;
  };
  EXPECT_EQ(runtimes("mamba2-130m"), "ghost; transformers (trust_remote_code); all others; ");
  EXPECT_EQ(runtimes("zamba2-1.2b"), "ghost; all others; ");
}

}  // namespace
}  // namespace ghost
