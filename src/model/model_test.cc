// Properties of models that need no reference: binding, saving, unequal state sizes, sampling.
#include "model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "io/q8_0.h"
#include "io/safetensors.h"
#include "model/convert_tensor.h"
#include "model/cost.h"
#include "model/random_model.h"
#include "model/runner.h"
#include "model/runtime_support.h"
#include "model/sampler.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

std::vector<int32_t> SomeTokens(int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(i * 7919 % 50));
  return tokens;
}

std::vector<float> Logits(const Model& model, std::span<const int32_t> tokens, bool stepwise) {
  Runner runner(model);
  SequenceState state(model.config());
  std::vector<float> all;
  const size_t step = stepwise ? 1 : tokens.size();
  for (size_t t = 0; t < tokens.size(); t += step) {
    const SequenceInput input{tokens.subspan(t, step), &state};
    const ConstView rows = runner.Logits(runner.Forward({&input, 1}));
    for (int64_t r = 0; r < rows.rows; ++r) all.insert(all.end(), rows.Row(r), rows.Row(r) + rows.cols);
  }
  return all;
}

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b, float limit) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], limit) << i;
}

TEST(Model, StepwiseEqualsWholeForOddStateSizes) {
  for (const int N : {1, 3, 61, 64, 90, 127}) {
    const Model model = MakeRandomModel(TinyConfig(2, N), DType::kF32, 7);
    const std::vector<int32_t> tokens = SomeTokens(70);
    ExpectClose(Logits(model, tokens, /*stepwise=*/true), Logits(model, tokens, /*stepwise=*/false), 1e-4f);
  }
}

// Two ways on from one state in one pass, and one from nothing, none of which keeps a state.
TEST(Model, SequencesMayKeepNoState) {
  ModelConfig config = TinyConfig(2, 16);
  config.blocks[1].group_begin = {0, 5, 12};  // parts of a state differ in size
  const Model model = MakeRandomModel(config, DType::kF32, 5);
  Runner runner(model);
  const std::vector<int32_t> tokens = SomeTokens(30);
  const std::span<const int32_t> all(tokens), before = all.first(20), after = all.subspan(20);
  SequenceState start(config);
  runner.PrefillLogits(before, start);
  const std::vector<SequenceInput> inputs = {
      {after.first(3), nullptr, &start}, {after, nullptr, &start}, {before, nullptr}};
  const ConstView rows = runner.Logits(runner.Forward(inputs));
  const std::vector<float> logits(rows.data, rows.data + rows.rows * rows.cols);
  const auto part = [&](int64_t row, int64_t count) {
    return std::vector<float>(logits.begin() + row * rows.cols, logits.begin() + (row + count) * rows.cols);
  };
  // `start` is as it was: it can be moved on afterwards.
  const SequenceInput own{after, &start};
  const ConstView moved = runner.Logits(runner.Forward({&own, 1}));
  ExpectClose(part(3, 10), std::vector<float>(moved.data, moved.data + moved.rows * moved.cols), 1e-5f);
  ExpectClose(part(0, 3), part(3, 3), 1e-5f);
  ExpectClose(part(13, 20), Logits(model, before, /*stepwise=*/false), 1e-5f);
}

TEST(Model, LayersAndGroupsMayHaveDifferentStateSizes) {
  ModelConfig config = TinyConfig(2, 16);
  config.blocks[0].group_begin = {0, 5, 12};  // N = 5 and 7
  config.blocks[1].group_begin = {0, 0, 9};   // a group that lost all its channels
  const Model model = MakeRandomModel(config, DType::kF32, 3);
  const std::vector<int32_t> tokens = SomeTokens(40);
  const std::vector<float> logits = Logits(model, tokens, /*stepwise=*/false);
  ExpectClose(Logits(model, tokens, /*stepwise=*/true), logits, 1e-4f);
  for (const float v : logits) ASSERT_TRUE(std::isfinite(v));
  EXPECT_EQ(SsmStateBytes(config), 4 * 4 * 8 * (5 + 7 + 0 + 9));
}

TEST(Model, SavedAndLoadedIsBitEqual) {
  const ModelConfig config = TinyConfig(1, 13);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const TempDir dir;
    SaveSafetensors(dir.path() + "/model.safetensors", MakeRandomTensors(config, dtype, 5),
                    {{"format", "pt"}});
    WriteFileAtomically(dir.path() + "/config.json", MakeHuggingFaceConfig(config).dump());
    const Model loaded = LoadModel(OpenCheckpoint(dir.path()));
    const Model made = MakeRandomModel(config, dtype, 5);
    EXPECT_EQ(Logits(loaded, SomeTokens(20), false), Logits(made, SomeTokens(20), false));
  }
}

TEST(Model, EveryProblemOfAFileIsReportedAtOnce) {
  const ModelConfig config = TinyConfig(1, 16);
  TensorSet set;
  for (auto& [name, tensor] : MakeRandomTensors(config, DType::kF32, 5))
    set.tensors[name] = {tensor, "m.safetensors"};
  set.tensors.erase("backbone.layers.0.mixer.D");
  set.tensors["backbone.layers.1.mixer.A_log"].tensor = MakeTensor(Shape{4}, std::vector<float>(4));
  set.tensors["backbone.layers.2.mixer.D"] = {MakeTensor(Shape{8}, std::vector<float>(8)), "m.safetensors"};
  set.tensors["backbone.norm_f.weight"].tensor = MakeTensor(Shape{32}, std::vector<int64_t>(32));
  try {
    BindWeights(set, config, "m.safetensors");
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
    for (const char* part : {"m.safetensors", "4 tensors", "backbone.layers.0.mixer.D: missing",
                             "backbone.layers.1.mixer.A_log: wrong shape, expected (8), found (4)",
                             "backbone.layers.2.mixer.D: unknown", "backbone.norm_f.weight: wrong type"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
  }
}

TEST(Model, TokensOutsideTheVocabularyAreRefused) {
  const Model model = MakeRandomModel(TinyConfig(1, 4), DType::kF32, 1);
  for (const int32_t bad : {-1, 50}) {
    const std::vector<int32_t> tokens = {1, bad};
    EXPECT_THROW(Logits(model, tokens, false), Error);
  }
}

TEST(Model, ReleasedShapesHaveTheirPublishedSizes) {
  struct Published {
    const char* name;
    int64_t parameters, state_bytes;
  };
  for (const auto& [name, parameters, state_bytes] :
       {Published{"mamba2-130m", 128989632, 18874368}, Published{"mamba2-370m", 368346624, 50331648},
        Published{"mamba2-780m", 780161280, 75497472}, Published{"mamba2-1.3b", 1343757312, 100663296},
        Published{"mamba2-2.7b", 2702599680, 167772160},
        Published{"codestral-mamba-7b", 7285403648, 268435456}}) {
    const ModelConfig config = ReleasedConfig(name);
    EXPECT_EQ(CountParameters(config), parameters) << name;
    EXPECT_EQ(SsmStateBytes(config), state_bytes) << name;
  }
  EXPECT_THROW(ReleasedConfig("mamba3"), Error);
}

TEST(Model, ContentHashSeesNamesTypesShapesAndSampledBytes) {
  const ModelConfig config = TinyConfig(1, 8);
  const auto hash = [&](const std::function<void(TensorSet&)>& change) {
    TensorSet set;
    for (auto& [name, tensor] : MakeRandomTensors(config, DType::kF32, 5)) set.tensors[name] = {tensor, ""};
    change(set);
    return ContentHash(set);
  };
  const std::string base = hash([](TensorSet&) {});
  EXPECT_EQ(base, hash([](TensorSet&) {}));
  EXPECT_NE(base, hash([](TensorSet& s) { s.tensors.erase("backbone.norm_f.weight"); }));
  EXPECT_NE(base, hash([](TensorSet& s) {
              auto& conv = s.tensors["backbone.layers.0.mixer.conv1d.bias"].tensor;
              std::vector<float> values = ToFloats(conv);
              values.back() = 0.0f;  // one masked channel
              conv = MakeTensor(conv.shape(), values);
            }));
}

TEST(RuntimeSupport, FollowsTheRulesOfTheOthersKernels) {
  const auto verdict = [](int N, const std::string& runtime) {
    ModelConfig config = ReleasedConfig("mamba2-130m");
    for (BlockDims& d : config.blocks) d.group_begin = UniformGroups(1, N);
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
    for (BlockDims& d : config.blocks) d.group_begin = UniformGroups(1, N);
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
  ragged.blocks[3].group_begin = {0, 64};
  ASSERT_EQ(AdviseStateSize(ragged).size(), 1u);
  EXPECT_NE(AdviseStateSize(ragged)[0].find("only ghost"), std::string::npos);
}

TEST(Convert, NarrowingKeepsNanAndRefusesOverflow) {
  const std::vector<float> fine = {1.0f, -65504.0f, NAN, INFINITY, 1e-9f};
  const std::vector<float> half = ToFloats(ConvertTensor(MakeTensor(Shape{5}, fine), DType::kF16, "w"));
  EXPECT_EQ(half[0], 1.0f);
  EXPECT_EQ(half[1], -65504.0f);
  EXPECT_TRUE(std::isnan(half[2]));
  EXPECT_TRUE(std::isinf(half[3]));
  EXPECT_TRUE(std::isnan(ToFloats(ConvertTensor(MakeTensor(Shape{5}, fine), DType::kBF16, "w"))[2]));
  const auto refused = [](const std::vector<float>& values, DType dtype) {
    try {
      ConvertTensor(MakeTensor(Shape{static_cast<int64_t>(values.size())}, values), dtype, "blk.3.w");
      ADD_FAILURE() << NameOf(dtype);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUnsupported);
      EXPECT_EQ(e.context().tensor, "blk.3.w");
    }
  };
  refused({1.0f, 7e4f}, DType::kF16);
  refused(std::vector<float>(31, 1.0f), DType::kQ8_0);
  refused(std::vector<float>(32, NAN), DType::kQ8_0);
}

TEST(Convert, PiecesAreTheWhole) {
  std::vector<float> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.37f - 15000.0f;
  const Tensor tensor = MakeTensor(Shape{3125, 32}, values);
  const std::vector<float> bf16 = ToFloats(ConvertTensor(tensor, DType::kBF16, "w"));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(bf16[i], F32FromBF16(BF16FromF32(values[i])));
  std::vector<std::byte> blocks(values.size() / 32 * 34);
  QuantizeRowQ8_0(values, blocks.data());
  EXPECT_TRUE(std::ranges::equal(ConvertTensor(tensor, DType::kQ8_0, "w").bytes(), blocks));
}

TEST(Convert, DecayRatesGoThereAndBack) {
  const std::vector<float> a_log = {-3.0f, 0.0f, 0.5f, 2.7725887f};
  const Tensor back = MakeALog(MakeA(MakeTensor(Shape{4}, a_log)), "ssm_a");
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(ToFloats(back)[i], a_log[i], 2e-7f * std::max(1.0f, a_log[i]));
  EXPECT_THROW(MakeALog(MakeTensor(Shape{1}, std::vector<float>{0.5f}), "ssm_a"), Error);
  EXPECT_THROW(MakeALog(MakeTensor(Shape{1}, std::vector<float>{NAN}), "ssm_a"), Error);
}

TEST(Sampler, GreedyNucleusAndSeeds) {
  const std::vector<float> logits = {0.0f, 3.0f, 3.0f, -1.0f, 9.0f};
  Sampler greedy({});
  EXPECT_EQ(greedy.Sample(logits, 5), 4);
  EXPECT_EQ(greedy.Sample(logits, 4), 1);  // padding row excluded; ties to the lower id
  Sampler narrow({.temperature = 1.0, .top_p = 0.5, .seed = 1});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(narrow.Sample(logits, 5), 4);
  Sampler a({.temperature = 2.0, .top_p = 1.0, .seed = 9}), b({.temperature = 2.0, .top_p = 1.0, .seed = 9});
  std::vector<int> seen(5);
  for (int i = 0; i < 2000; ++i) {
    const int32_t id = a.Sample(logits, 4);
    EXPECT_EQ(id, b.Sample(logits, 4));
    seen[static_cast<size_t>(id)]++;
  }
  EXPECT_EQ(seen[4], 0);
  // softmax of (0, 3, 3, -1) / 2: 0.0917, 0.4111, 0.4111, 0.0556... each within four standard errors
  const double z = 1.0 + 2.0 * std::exp(1.5) + std::exp(-0.5);
  EXPECT_NEAR(seen[1] / 2000.0, std::exp(1.5) / z, 0.045);
  EXPECT_NEAR(seen[0] / 2000.0, 1.0 / z, 0.03);
}

}  // namespace
}  // namespace ghost
