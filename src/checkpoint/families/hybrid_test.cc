// Granite, Nemotron-H, Falcon-H1 and Bamba: spellings of their configurations, what is refused, released
// shapes, and what other layouts make of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "checkpoint/bind.h"
#include "checkpoint/families/hybrid_model.h"
#include "checkpoint/family.h"
#include "checkpoint/gguf_export.h"
#include "checkpoint/load.h"
#include "checkpoint/random_model.h"
#include "model/cost.h"
#include "tests/support/logits.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

ModelConfig Parse(const std::string& text) {
  return ParseConfig(ParseJson(text, "config.json"), "config.json");
}

// "M*-E" and H for a mixer beside attention, one letter per layer.
std::string KindsOf(const ModelConfig& config) {
  std::string kinds;
  for (const LayerSpec& layer : config.layers) {
    const bool mixer = LayerHas(layer, PartKind::kMixer), attention = LayerHas(layer, PartKind::kAttention);
    const bool experts = LayerHas(layer, PartKind::kExperts);
    kinds += mixer && attention ? 'H' : mixer ? 'M' : attention ? '*' : experts ? 'E' : '-';
  }
  return kinds;
}

constexpr const char* kGranite =
    R"("model_type": "granitemoehybrid", "hidden_size": 32, "num_hidden_layers": 3,
    "mamba_n_heads": 4, "mamba_d_state": 16, "num_attention_heads": 4, "shared_intermediate_size": 24,
    "intermediate_size": 20, "vocab_size": 40)";
constexpr const char* kNemotron = R"("model_type": "nemotron_h", "hidden_size": 32, "mamba_num_heads": 4,
    "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "intermediate_size": 24, "moe_intermediate_size": 20,
    "moe_shared_expert_intermediate_size": 28, "vocab_size": 40)";
constexpr const char* kFalcon = R"("model_type": "falcon_h1", "hidden_size": 32, "num_hidden_layers": 2,
    "mamba_d_ssm": 48, "mamba_n_heads": 4, "mamba_d_state": 16, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 40, "rope_theta": 1e11)";
constexpr const char* kBamba = R"("model_type": "bamba", "hidden_size": 32, "num_hidden_layers": 3,
    "mamba_n_heads": 4, "mamba_d_state": 16, "num_attention_heads": 4, "num_key_value_heads": 2,
    "attn_layer_indices": [1], "intermediate_size": 24, "vocab_size": 40)";

// The fields, and more of them that override.
std::string With(const char* fields, const std::string& more) {
  Json json = ParseJson(std::string("{") + fields + "}", "base");
  json.update(ParseJson("{" + more + "}", "more"));
  return json.dump();
}

TEST(HybridConfig, BothSpellingsOfLayerKinds) {
  EXPECT_EQ(KindsOf(Parse(With(kGranite, R"("layer_types": ["mamba", "attention", "mamba"])"))), "M*M");
  EXPECT_EQ(KindsOf(Parse(With(
                kGranite, R"("layer_types": ["linear_attention", "full_attention", "linear_attention"])"))),
            "M*M");
  EXPECT_EQ(KindsOf(Parse(With(kGranite, R"("layers_block_type": ["mamba", "attention", "mamba"])"))), "M*M");
  EXPECT_EQ(KindsOf(Parse(With(kGranite, ""))), "MMM");
  EXPECT_EQ(KindsOf(Parse(With(kNemotron, R"("hybrid_override_pattern": "M-*EM")"))), "M-*EM");
  EXPECT_EQ(KindsOf(Parse(With(kNemotron, R"("hybrid_override_pattern": "M-", "layers_block_type":
      ["linear_attention", "mlp", "full_attention", "moe", "mamba"])"))),
            "M-*EM");
  EXPECT_EQ(KindsOf(Parse(With(kFalcon, ""))), "HH");
  EXPECT_EQ(KindsOf(Parse(With(kBamba, ""))), "M*M");
  EXPECT_EQ(KindsOf(Parse(With(kBamba, R"("attn_layer_indices": null)"))), "MMM");
  EXPECT_EQ(KindsOf(Parse(With(kBamba, R"("attn_layer_indices": null,
      "layer_types": ["linear_attention", "full_attention", "full_attention"])"))),
            "M**");
}

TEST(HybridConfig, MixersAreCountedByThemselvesAndNameTheirLayer) {
  const ModelConfig c = Parse(With(kNemotron, R"("hybrid_override_pattern": "-M*EM")"));
  ASSERT_EQ(c.num_mixers(), 2);
  EXPECT_EQ(c.mixers[0].layer, 1);
  EXPECT_EQ(c.mixers[1].layer, 4);
  EXPECT_EQ(c.mixers[1].names.prefix, "backbone.layers.4.mixer.");
}

TEST(HybridConfig, OptionsOfTheFamilies) {
  const ModelConfig granite = Parse(With(kGranite, R"("layer_types": ["mamba", "attention", "mamba"],
      "attention_multiplier": 0.125, "embedding_multiplier": 12, "residual_multiplier": 0.5,
      "logits_scaling": 4, "num_local_experts": 6, "num_experts_per_tok": 3)"));
  EXPECT_EQ(granite.attentions[0].scale, 0.125f);
  EXPECT_EQ(granite.attentions[0].rope_theta, 0.0);  // no positions unless asked for
  EXPECT_EQ(granite.attentions[0].num_kv_heads, 4);
  EXPECT_EQ(granite.head_factor, 0.25f);
  EXPECT_EQ(granite.mixers[0].factors.output, 0.5f);
  EXPECT_EQ(granite.experts[0].router.num_chosen, 3);
  EXPECT_EQ(granite.norm_eps, 1e-6f);
  const ModelConfig rope = Parse(With(kGranite, R"("layer_types": ["mamba", "attention", "mamba"],
      "position_embedding_type": "rope", "rope_parameters": {"rope_type": "default", "rope_theta": 500})"));
  EXPECT_EQ(rope.attentions[0].rope_theta, 500.0);
  EXPECT_EQ(rope.attentions[0].rotated, 8);
  EXPECT_EQ(Parse(With(kBamba, "")).attentions[0].rotated, 4);  // half of the head
  const ModelConfig falcon =
      Parse(With(kFalcon, R"("ssm_multipliers": [2, 3, 4, 5, 6], "mamba_proj_bias": true,
      "projectors_bias": false, "mlp_multipliers": [7, 8], "mamba_rms_norm": true)"));
  EXPECT_EQ(falcon.mixers[0].d_inner(), 48);
  EXPECT_EQ(falcon.mixers[0].factors.dt, 6.0f);
  EXPECT_TRUE(falcon.mixers[0].in_bias);
  EXPECT_FALSE(falcon.mixers[0].out_bias);
  EXPECT_EQ(falcon.mixers[0].gate_form, GateForm::kNormThenGate);  // the default side of the gate
  EXPECT_EQ(falcon.mlps[0].down_factor, 8.0f);
  EXPECT_EQ(Parse(With(kFalcon, R"("mamba_d_ssm": null)")).mixers[0].d_inner(), 64);
  const ModelConfig nemotron =
      Parse(With(kNemotron, R"("hybrid_override_pattern": "ME", "moe_latent_size": 12,
      "mlp_bias": true, "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5,
      "num_hidden_layers": 7, "tie_word_embeddings": true, "attention_bias": true)"));
  EXPECT_EQ(nemotron.experts[0].io_width(), 12);
  EXPECT_TRUE(nemotron.experts[0].latent_bias);
  EXPECT_EQ(nemotron.experts[0].router.num_chosen_groups, 2);
  EXPECT_FALSE(nemotron.tied_head);  // never
}

struct BadHybrid {
  const char* name;
  const char* base;
  const char* fields;
  ErrorKind kind;
  const char* mentions;
};
class BadHybridTest : public testing::TestWithParam<BadHybrid> {};

TEST_P(BadHybridTest, IsRefusedInASentence) {
  const BadHybrid& bad = GetParam();
  try {
    Parse(With(bad.base, bad.fields));
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), bad.kind) << e.what();
    EXPECT_NE(std::string(e.what()).find(bad.mentions), std::string::npos) << e.what();
  }
}

constexpr ErrorKind kCorrupt = ErrorKind::kCorrupt, kUnsupported = ErrorKind::kUnsupported;
INSTANTIATE_TEST_SUITE_P(
    Table, BadHybridTest,
    testing::Values(
        BadHybrid{"no_mixer", kGranite, R"("layer_types": ["attention", "attention", "attention"])",
                  kUnsupported, "no Mamba2 layer"},
        BadHybrid{"activation", kGranite, R"("hidden_act": "gelu")", kUnsupported, "gelu"},
        BadHybrid{"relu", kNemotron, R"("hybrid_override_pattern": "M", "mlp_hidden_act": "relu")",
                  kUnsupported, "relu2"},
        BadHybrid{"rope_scaling", kBamba, R"("rope_scaling": {"rope_type": "yarn", "factor": 4})",
                  kUnsupported, "yarn"},
        BadHybrid{"rope_type", kFalcon, R"("rope_parameters": {"rope_type": "linear", "rope_theta": 1e4})",
                  kUnsupported, "linear"},
        BadHybrid{"rope_theta_missing", kFalcon, R"("rope_theta": 0)", kCorrupt, "rope_theta"},
        BadHybrid{"quantized", kNemotron, R"("hybrid_override_pattern": "M",
                  "quantization_config": {"quant_method": "fp8"})",
                  kUnsupported, "quantization_config"},
        BadHybrid{"sliding_window", kBamba, R"("sliding_window": 4096)", kUnsupported, "sliding_window"},
        BadHybrid{"shared_experts", kNemotron, R"("hybrid_override_pattern": "ME", "n_shared_experts": 2)",
                  kUnsupported, "n_shared_experts"},
        BadHybrid{"letter", kNemotron, R"("hybrid_override_pattern": "MX")", kUnsupported, "X"},
        BadHybrid{"no_pattern", kNemotron, "", kCorrupt, "hybrid_override_pattern"},
        BadHybrid{"word", kGranite, R"("layer_types": ["mamba", "hyena", "mamba"])", kUnsupported, "hyena"},
        BadHybrid{"length", kGranite, R"("layer_types": ["mamba", "mamba"])", kCorrupt, "3 layers"},
        BadHybrid{"inner", kGranite, R"("mamba_d_head": 5)", kCorrupt, "4 heads x 5"},
        BadHybrid{"kv", kBamba, R"("num_key_value_heads": 3)", kCorrupt, "key-value heads"},
        BadHybrid{"index", kBamba, R"("attn_layer_indices": [3])", kCorrupt, "attn_layer_indices"},
        BadHybrid{"factor", kGranite, R"("logits_scaling": 0)", kCorrupt, "logits_scaling"},
        BadHybrid{"factors", kFalcon, R"("ssm_multipliers": [1, 2])", kCorrupt, "5 numbers"},
        BadHybrid{"groups", kNemotron,
                  R"("hybrid_override_pattern": "ME", "n_routed_experts": 8, "n_group": 3)", kCorrupt,
                  "router groups"},
        BadHybrid{"chosen", kNemotron, R"("hybrid_override_pattern": "ME", "n_routed_experts": 8,
                  "num_experts_per_tok": 9)",
                  kCorrupt, "num_experts_per_tok"},
        BadHybrid{"mamba1", kBamba, R"("model_type": "jamba")", kUnsupported, "Mamba1"},
        BadHybrid{"delta", kBamba, R"("model_type": "qwen3_next")", kUnsupported, "delta rule"}),
    [](const auto& test) { return test.param.name; });

// What a config.json says is what is written for a model that has none.
TEST(HybridConfig, WrittenConfigsReadBack) {
  for (const std::string& text :
       {With(kGranite, R"("layer_types": ["mamba", "attention", "mamba"], "num_local_experts": 4,
             "logits_scaling": 3, "time_step_limit": [0.01, 0.1])"),
        With(kNemotron,
             R"("hybrid_override_pattern": "M-*EM", "moe_latent_size": 12, "n_routed_experts": 8)"),
        With(kFalcon, R"("mamba_rms_norm": true, "mamba_norm_before_gate": false, "head_dim": 12,
             "ssm_multipliers": [2, 3, 4, 5, 6], "key_multiplier": 0.39)"),
        With(kBamba, R"("mlp_bias": true, "attention_bias": true)")}) {
    const ModelConfig once = Parse(text);
    const std::string written = MakeHuggingFaceConfig(once).dump();
    const ModelConfig twice = Parse(written);
    EXPECT_EQ(KindsOf(twice), KindsOf(once));
    EXPECT_EQ(MakeHuggingFaceConfig(twice).dump(), written);
    EXPECT_EQ(CountParameters(twice), CountParameters(once));
  }
}

struct Released {
  const char* name;
  int mixers, attentions;
  double state_megabytes, kv_megabytes;  // 4096 tokens in 16 bits
  double billions;                       // parameters; 0: not published to that precision
};

// The numbers that model cards and configurations give.
TEST(HybridConfig, ReleasedShapesHaveTheirPublishedSizes) {
  for (const Released& r :
       {Released{"granite-4.0-h-350m", 28, 4, 22.0, 16.8, 0.34},
        Released{"granite-4.0-h-1b", 36, 4, 56.6, 33.6, 1.5},
        Released{"granite-4.0-h-micro", 36, 4, 75.5, 33.6, 3.2},
        Released{"granite-4.0-h-tiny", 36, 4, 56.6, 33.6, 6.9},
        Released{"granite-4.0-h-small", 36, 4, 151, 67, 32}, Released{"nemotron-h-8b", 24, 4, 101, 67, 8.1},
        Released{"nemotron-nano-9b-v2", 27, 4, 142, 67, 8.9},
        Released{"nemotron-nano-12b-v2", 28, 6, 147, 101, 12.3},
        Released{"nemotron-3-nano-30b-a3b", 23, 6, 48, 25, 31.6},
        Released{"falcon-h1-0.5b", 36, 36, 28, 76, 0.52}, Released{"falcon-h1-1.5b", 24, 24, 75.5, 101, 1.55},
        Released{"falcon-h1-3b", 32, 32, 134, 134, 3.15}, Released{"falcon-h1-7b", 44, 44, 138, 185, 7.59},
        Released{"falcon-h1-34b", 72, 72, 302, 604, 33.6}, Released{"bamba-9b", 29, 3, 122, 50, 9.8}}) {
    const ModelConfig c = ReleasedConfig(r.name);
    EXPECT_EQ(c.num_mixers(), r.mixers) << r.name;
    EXPECT_EQ(c.attentions.size(), static_cast<size_t>(r.attentions)) << r.name;
    EXPECT_NEAR(static_cast<double>(SsmStateBytes(c)) / 1e6, r.state_megabytes, 0.5) << r.name;
    EXPECT_NEAR(static_cast<double>(KeyValueBytes(c)) / 2 * 4096 / 1e6, r.kv_megabytes, 0.6) << r.name;
    EXPECT_NEAR(static_cast<double>(CountParameters(c)) / 1e9, r.billions, 0.03 * r.billions) << r.name;
  }
}

// --- files ---

std::vector<int32_t> Ids() {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 20; ++i) ids.push_back(i * 7 % 40);
  return ids;
}

TensorSet RandomSet(const ModelConfig& config) {
  TensorSet set;
  for (auto& [name, tensor] : MakeRandomTensors(config, DType::kF32, 3))
    set.tensors[name] = {tensor, "(random)"};
  return set;
}

TEST(HybridFiles, AliasesAndStackedExpertsGiveTheSameModel) {
  const ModelConfig config =
      Parse(With(kNemotron, R"("hybrid_override_pattern": "M-*EM", "n_routed_experts": 4)"));
  TensorSet set = RandomSet(config);
  const Model plain(config, BindWeights(set, config, "plain"));
  const std::vector<float> logits = RunPass(plain, Ids()).logits;
  // model. instead of backbone., and the experts of a layer in one tensor.
  TensorSet renamed;
  for (const auto& [name, stored] : set.tensors) {
    if (name.find(".experts.") != std::string::npos) continue;
    const bool inner = name.starts_with("backbone.");
    renamed.tensors[inner ? "model." + name.substr(9) : name] = stored;
  }
  for (const char* projection : {"up_proj", "down_proj"}) {
    std::vector<float> all;
    Shape one;
    for (int e = 0; e < 4; ++e) {
      const Tensor& t =
          set.tensors
              .at("backbone.layers.3.mixer.experts." + std::to_string(e) + "." + projection + ".weight")
              .tensor;
      const std::vector<float> values = ToFloats(t);
      all.insert(all.end(), values.begin(), values.end());
      one = t.shape();
    }
    renamed.tensors[std::string("model.layers.3.mixer.experts.") + projection] = {
        MakeTensor(Shape{4, one[0], one[1]}, all), "(joined)"};
  }
  renamed.tensors["mtp.layers.0.weight"] = {MakeTensor(Shape{2}, std::vector<float>{1, 2}), "(extra)"};
  ModelConfig fitted = config;
  FamilyOf(config).fit(renamed, fitted);
  EXPECT_EQ(RunPass(Model(fitted, BindWeights(renamed, fitted, "renamed")), Ids()).logits, logits);
  EXPECT_EQ(ForeignTensors(renamed, fitted).size(), 1u);
  renamed.tensors["model.layers.0.surplus"] = {MakeTensor(Shape{1}, std::vector<float>{1}), "(extra)"};
  EXPECT_THROW(BindWeights(renamed, fitted, "renamed"), Error);
}

// To GGUF and back: the same logits, and where no factor is inside the weights the same bytes.
TEST(HybridFiles, ArrangementsAreOneModel) {
  struct Case {
    std::string text;
    bool folds;
  };
  const Case cases[] = {
      {With(kGranite, R"("layer_types": ["mamba", "attention", "mamba"], "position_embedding_type": "rope",
            "num_local_experts": 4, "residual_multiplier": 0.5, "tie_word_embeddings": true, "attention_bias": true)"),
       false},
      {With(kGranite, R"("num_local_experts": 0, "embedding_multiplier": 3)"), false},
      {With(kNemotron, R"("hybrid_override_pattern": "M*EM", "moe_latent_size": 12, "n_routed_experts": 8,
            "n_group": 4, "topk_group": 2)"),
       false},
      {With(kNemotron, R"("hybrid_override_pattern": "M-*M", "mlp_bias": true)"), false},
      {With(kBamba, R"("attention_bias": true, "mlp_bias": true)"), false},
      {With(kFalcon,
            R"("ssm_multipliers": [2, 0.5, 0.7, 1.5, 0.6], "key_multiplier": 0.4, "ssm_in_multiplier": 1.25,
            "ssm_out_multiplier": 0.7, "attention_in_multiplier": 1.5, "attention_out_multiplier": 0.9,
            "embedding_multiplier": 5, "lm_head_multiplier": 0.3, "mlp_multipliers": [0.8, 0.6],
            "tie_word_embeddings": true, "mlp_bias": true)"),
       true}};
  const TempDir dir;
  for (const auto& [text, folds] : cases) {
    const ModelConfig config = Parse(text);
    SCOPED_TRACE(config.family);
    const Model model = MakeRandomModel(config, DType::kF32, 3);
    const std::vector<float> logits = RunPass(model, Ids()).logits;
    const std::string path = dir.path() + "/m.gguf";
    SaveGguf(path, MakeGgufKeys(config, DType::kF32), MakeGgufTensors(model, DType::kF32));
    const Checkpoint gguf = OpenCheckpoint(path);
    EXPECT_EQ(gguf.config.family, config.family);
    EXPECT_EQ(KindsOf(gguf.config), KindsOf(config));
    const std::vector<float> again = RunPass(LoadModel(gguf), Ids()).logits;
    ASSERT_EQ(again.size(), logits.size());
    for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(again[i], logits[i], 2e-4) << i;
    if (folds) continue;
    EXPECT_EQ(MakeHuggingFaceConfig(Arranged(gguf.config, Layout::kHuggingFace)).dump(),
              MakeHuggingFaceConfig(config).dump());
  }
}

TEST(HybridFiles, WhatLlamaCppCannotRunIsRefused) {
  const auto refuse = [](const std::string& text, const char* why) {
    try {
      MakeGgufKeys(Parse(text), DType::kF32);
      FAIL() << why;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  };
  refuse(With(kGranite, R"("mamba_expand": 3)"), "twice the model's");
  refuse(With(kNemotron, R"("hybrid_override_pattern": "ME-", "n_routed_experts": 4)"), "MLP layers beside");
  refuse(With(kNemotron, R"("hybrid_override_pattern": "ME", "n_routed_experts": 4, "mlp_bias": true)"),
         "biases");
  refuse(With(kFalcon, R"("mamba_rms_norm": true)"), "gate after the norm");
  refuse(With(kFalcon, R"("attention_bias": true)"), "attention's output");
  refuse(With(kBamba, R"("mamba_proj_bias": true)"), "projection bias");
}

}  // namespace
}  // namespace ghost
