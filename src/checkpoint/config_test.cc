#include "checkpoint/family.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace ghost {
namespace {

ModelConfig Parse(const std::string& text) {
  return ParseConfig(ParseJson(text, "config.json"), "config.json");
}

TEST(Config, HuggingFaceDefaultsAreTheLibrarys) {
  const ModelConfig c = Parse(R"({"model_type": "mamba2"})");
  EXPECT_EQ(c.d_model, 4096);
  EXPECT_EQ(c.num_layers(), 64);
  EXPECT_EQ(c.vocab_size, 32768);
  EXPECT_FALSE(c.tied_head);
  EXPECT_EQ(c.mixers[0].num_groups(), 8);
  EXPECT_EQ(c.mixers[0].in_proj_rows(), 18560);  // Codestral-Mamba-7B
  EXPECT_EQ(c.mixers[0].conv_channels(), 10240);
  EXPECT_EQ(c.mixers[0].norm_groups(), 8);
  EXPECT_TRUE(std::isinf(c.mixers[0].dt_max));
}

TEST(Config, StateSpacesPadsTheVocabularyAndFillsDefaults) {
  const ModelConfig c =
      Parse(R"({"d_model": 768, "n_layer": 24, "vocab_size": 50277, "ssm_cfg": {"layer": "Mamba2"},
                                  "pad_vocab_size_multiple": 16})");
  EXPECT_EQ(c.layout, Layout::kStateSpaces);
  EXPECT_EQ(c.vocab_size, 50288);
  EXPECT_EQ(c.token_count, 50277);
  EXPECT_EQ(c.mixers[0].in_proj_rows(), 3352);  // mamba2-130m
  EXPECT_EQ(c.mixers[0].state_floats() * 24 * 4, 18874368);
  EXPECT_TRUE(c.tied_head);
}

TEST(Config, HuggingFaceWrittenAndReadAgain) {
  ModelConfig c =
      Parse(R"({"model_type": "mamba2", "hidden_size": 64, "num_heads": 2, "n_groups": 2, "state_size": 61,
      "num_hidden_layers": 3, "vocab_size": 320, "use_bias": true, "time_step_limit": [0.005, 0.08]})");
  const ModelConfig again = Parse(MakeHuggingFaceConfig(c).dump());
  EXPECT_EQ(again.mixers[0].state_begin, c.mixers[0].state_begin);
  EXPECT_EQ(again.mixers[0].dt_min, c.mixers[0].dt_min);
  EXPECT_EQ(again.mixers[0].dt_max, c.mixers[0].dt_max);
  EXPECT_EQ(again.norm_eps, c.norm_eps);
  EXPECT_TRUE(again.mixers[0].in_bias && again.mixers[0].out_bias);
}

struct BadConfig {
  const char* name;
  const char* text;
  ErrorKind kind;
  const char* mentions;
};

class BadConfigTest : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, IsRefusedAndNamed) {
  try {
    Parse(GetParam().text);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), GetParam().kind) << e.what();
    EXPECT_NE(std::string(e.what()).find(GetParam().mentions), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("config.json"), std::string::npos);
  }
}

constexpr ErrorKind kCorrupt = ErrorKind::kCorrupt, kUnsupported = ErrorKind::kUnsupported;
INSTANTIATE_TEST_SUITE_P(
    Table, BadConfigTest,
    testing::Values(
        BadConfig{"empty", "{}", kUnsupported, "model_type"}, BadConfig{"array", "[]", kCorrupt, "object"},
        BadConfig{"llama", R"({"model_type": "llama"})", kUnsupported, "llama"},
        BadConfig{"mamba1", R"({"model_type": "mamba"})", kUnsupported, "mamba"},
        BadConfig{"type_number", R"({"model_type": 2})", kCorrupt, "model_type"},
        BadConfig{"heads", R"({"model_type": "mamba2", "num_heads": 127})", kCorrupt, "hidden_size * expand"},
        BadConfig{"groups", R"({"model_type": "mamba2", "n_groups": 7})", kCorrupt, "groups"},
        BadConfig{"zero_layers", R"({"model_type": "mamba2", "num_hidden_layers": 0})", kCorrupt,
                  "num_hidden_layers"},
        BadConfig{"many_layers", R"({"model_type": "mamba2", "num_hidden_layers": 1000000})", kCorrupt,
                  "num_hidden_layers"},
        BadConfig{"negative_state", R"({"model_type": "mamba2", "state_size": -1})", kCorrupt, "state_size"},
        BadConfig{"huge_state", R"({"model_type": "mamba2", "state_size": 100000000000})", kCorrupt,
                  "state_size"},
        BadConfig{"float_state", R"({"model_type": "mamba2", "state_size": 12.5})", kCorrupt, "state_size"},
        BadConfig{"nan_eps", R"({"model_type": "mamba2", "layer_norm_epsilon": NaN})", kCorrupt,
                  "layer_norm_epsilon"},
        BadConfig{"nan_expand", R"({"model_type": "mamba2", "expand": NaN})", kCorrupt, "expand"},
        BadConfig{"inf_expand", R"({"model_type": "mamba2", "expand": Infinity})", kCorrupt, "expand"},
        BadConfig{"nan_limit", R"({"model_type": "mamba2", "time_step_limit": [NaN, 1.0]})", kCorrupt,
                  "time_step_limit"},
        BadConfig{"swapped_limit", R"({"model_type": "mamba2", "time_step_limit": [1.0, 0.1]})", kCorrupt,
                  "time_step_limit"},
        BadConfig{"short_limit", R"({"model_type": "mamba2", "time_step_limit": [1.0]})", kCorrupt,
                  "time_step_limit"},
        BadConfig{"activation", R"({"model_type": "mamba2", "hidden_act": "gelu"})", kUnsupported, "gelu"},
        BadConfig{"bool_bias", R"({"model_type": "mamba2", "use_bias": "yes"})", kCorrupt, "use_bias"},
        BadConfig{"vocab", R"({"model_type": "mamba2", "vocab_size": 0})", kCorrupt, "vocab_size"},
        BadConfig{"ss_mamba1", R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {}})", kUnsupported, "Mamba1"},
        BadConfig{"ss_attention",
                  R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [1]})",
                  kUnsupported, "attn_layer_idx"},
        BadConfig{"ss_mlp",
                  R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {"layer": "Mamba2"}, "d_intermediate": 128})",
                  kUnsupported, "d_intermediate"},
        BadConfig{"ss_dssm", R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {"layer": "Mamba2", "d_ssm": 64}})",
                  kUnsupported, "d_ssm"},
        BadConfig{"ss_hdim",
                  R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {"layer": "Mamba2", "D_has_hdim": true}})",
                  kUnsupported, "D_has_hdim"},
        BadConfig{"ss_rmsnorm",
                  R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {"layer": "Mamba2", "rmsnorm": false}})",
                  kUnsupported, "rmsnorm"},
        BadConfig{"ss_headdim",
                  R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {"layer": "Mamba2", "headdim": 48}})", kCorrupt,
                  "expand"},
        BadConfig{"ss_cfg_list", R"({"d_model": 64, "n_layer": 2, "ssm_cfg": []})", kCorrupt, "ssm_cfg"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ghost
