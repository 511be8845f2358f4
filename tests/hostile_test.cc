// Runs the program on every hostile file of the readers' tables, and on checkpoints that are well formed but
// wrong as models. Each must give the right exit code and a message that names file and cause, without a
// crash and without allocating what a wrong length asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/gguf_export.h"
#include "checkpoint/load.h"
#include "io/gguf_writer.h"
#include "io/safetensors.h"
#include "tests/support/hostile_gguf.h"
#include "tests/support/hostile_pytorch.h"
#include "tests/support/hostile_safetensors.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;

const std::string kGoodModel = "tests/golden/m2_g1_n16_tied";
// The program, its libraries and thread stacks need about 300 MB of address space; these files have
// a few hundred bytes.
constexpr size_t kAddressSpace = size_t{1} << 30;

void ExpectRun(const std::string& model, int exit_code, const std::vector<std::string>& mentions) {
  const RunResult run = RunGhost({"inspect", model, "--threads", "1"}, {.max_address_space = kAddressSpace});
  EXPECT_EQ(run.exit_code, exit_code) << run.err;
  EXPECT_EQ(run.out, "");
  for (const std::string& part : mentions) EXPECT_THAT(run.err, HasSubstr(part));
}

std::vector<HostileFile> AllHostileFiles() {
  std::vector<HostileFile> all;
  const auto add = [&](const std::string& prefix, std::vector<HostileFile> table) {
    for (HostileFile& file : table) {
      file.name = prefix + file.name;
      all.push_back(std::move(file));
    }
  };
  add("safetensors_", HostileSafetensors());
  add("index_", HostileSafetensorsIndices());
  add("zip_", HostileZips());
  add("pickle_", HostilePickles());
  add("pytorch_", HostilePytorchTensors());
  add("gguf_", HostileGguf());
  return all;
}

// The file name of that kind inside a checkpoint directory.
std::string NameInCheckpoint(const std::string& open) {
  if (open.ends_with(".index.json"))
    return open.find(".bin") == std::string::npos ? "model.safetensors.index.json"
                                                  : "pytorch_model.bin.index.json";
  if (open.ends_with(".safetensors")) return "model.safetensors";
  if (open.ends_with(".gguf")) return open;
  return "pytorch_model.bin";
}

class HostileFileTest : public testing::TestWithParam<HostileFile> {};

TEST_P(HostileFileTest, IsRefusedByTheCommandLine) {
  const HostileFile& hostile = GetParam();
  const TempDir dir;
  for (const auto& [name, bytes] : hostile.files) {
    dir.Write(name == hostile.open ? NameInCheckpoint(name) : name, bytes);
  }
  const bool gguf = hostile.open.ends_with(".gguf");
  if (!gguf) dir.Write("config.json", ReadFile(kGoodModel + "/config.json"));
  std::vector<std::string> mentions = hostile.must_mention;
  mentions.push_back(dir.path());
  ExpectRun(gguf ? dir.File(hostile.open) : dir.path(), ExitCode(hostile.kind), mentions);
}

INSTANTIATE_TEST_SUITE_P(Table, HostileFileTest, testing::ValuesIn(AllHostileFiles()),
                         [](const auto& test) { return test.param.name; });

// A valid model with one change.
struct WrongModel {
  std::string name;
  std::function<void(Json& config, std::map<std::string, Tensor>& tensors)> change;
  int exit_code;
  std::vector<std::string> mentions;
};

void Resize(std::map<std::string, Tensor>& tensors, const std::string& name, Shape shape) {
  tensors[name] = MakeTensor(shape, std::vector<float>(static_cast<size_t>(shape.NumElements())));
}

const std::string kInProj = "backbone.layers.1.mixer.in_proj.weight";

std::vector<WrongModel> WrongModels() {
  const auto config_only = [](const char* key, Json value) {
    return [key, value](Json& config, std::map<std::string, Tensor>&) { config[key] = value; };
  };
  return {
      {"other_family", config_only("model_type", "bert"), 65, {"config.json", "bert"}},
      {"vocabulary_larger",
       config_only("vocab_size", 300),
       65,
       {"backbone.embeddings.weight", "(300, 32)", "(256, 32)"}},
      {"vocabulary_smaller", config_only("vocab_size", 100), 65, {"backbone.embeddings.weight"}},
      {"state_larger", config_only("state_size", 32), 65, {"in_proj.weight", "conv1d.weight", "(196, 32)"}},
      {"fewer_layers", config_only("num_hidden_layers", 1), 65, {kInProj, "unknown"}},
      {"more_layers", config_only("num_hidden_layers", 3), 65, {"backbone.layers.2.norm.weight", "missing"}},
      {"untied_without_head", config_only("tie_word_embeddings", false), 65, {"lm_head.weight", "missing"}},
      {"bias_missing", config_only("use_bias", true), 65, {"in_proj.bias", "missing"}},
      {"conv_bias_unwanted", config_only("use_conv_bias", false), 65, {"conv1d.bias", "unknown"}},
      {"wider_convolution", config_only("conv_kernel", 5), 65, {"conv1d.weight", "(96, 1, 5)"}},
      {"two_groups", config_only("n_groups", 2), 65, {"in_proj.weight"}},
      {"three_groups", config_only("n_groups", 3), 65, {"config.json", "groups"}},
      {"heads", config_only("num_heads", 5), 65, {"config.json"}},
      {"huge_width", config_only("hidden_size", 1000000000), 65, {"hidden_size"}},
      {"huge_vocabulary", config_only("vocab_size", 1000000000000), 65, {"vocab_size"}},
      {"nan_epsilon",
       config_only("layer_norm_epsilon", Json::parse(R"({"__float__": "NaN"})")),
       65,
       {"layer_norm_epsilon"}},
      {"nan_limit",
       config_only("time_step_limit", Json::parse(R"([0.0, {"__float__": "NaN"}])")),
       65,
       {"time_step_limit"}},
      {"text_state", config_only("state_size", "16"), 65, {"state_size"}},
      {"missing_tensor",
       [](Json&, auto& t) { t.erase(kInProj); },
       65,
       {kInProj, "missing", "model.safetensors"}},
      {"extra_tensor",
       [](Json&, auto& t) { Resize(t, "backbone.extra", Shape{3}); },
       65,
       {"backbone.extra", "unknown"}},
      {"transposed",
       [](Json&, auto& t) {
         Resize(t, kInProj, Shape{32, 164});
       },
       65,
       {kInProj, "(164, 32)", "(32, 164)"}},
      {"flattened", [](Json&, auto& t) { Resize(t, kInProj, Shape{164 * 32}); }, 65, {kInProj}},
      {"empty_tensor",
       [](Json&, auto& t) {
         Resize(t, kInProj, Shape{0, 32});
       },
       65,
       {kInProj, "(0, 32)"}},
      {"scalar",
       [](Json&, auto& t) { Resize(t, "backbone.norm_f.weight", Shape{}); },
       65,
       {"backbone.norm_f.weight"}},
      {"integer_weights",
       [](Json&, auto& t) {
         t[kInProj] = MakeTensor(Shape{164, 32}, std::vector<int64_t>(164 * 32));
       },
       65,
       {kInProj, "I64"}},
      {"double_matrix",
       [](Json&, auto& t) {
         t[kInProj] = MakeTensor(Shape{164, 32}, std::vector<double>(164 * 32));
       },
       65,
       {kInProj, "F64"}},
      {"many_at_once",
       [](Json& c, auto& t) {
         c["vocab_size"] = 300;
         t.erase(kInProj);
         Resize(t, "backbone.extra", Shape{3});
       },
       65,
       {"3 tensors", "backbone.embeddings.weight", kInProj, "backbone.extra"}},
  };
}

// Each change is made to a good model.
void ExpectAllRefused(const std::string& good, const std::vector<WrongModel>& changes) {
  for (const WrongModel& wrong : changes) {
    SCOPED_TRACE(wrong.name);
    Json config = LoadJson(good + "/config.json");
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, stored] : ReadSafetensors(good + "/model.safetensors").tensors) {
      tensors[name] = stored.tensor;
    }
    wrong.change(config, tensors);
    const TempDir dir;
    dir.Write("config.json", config.dump());
    SaveSafetensors(dir.File("model.safetensors"), tensors, {});
    ExpectRun(dir.path(), wrong.exit_code, wrong.mentions);
  }
}

TEST(WrongModel, EveryOneIsRefusedAndNamed) { ExpectAllRefused(kGoodModel, WrongModels()); }

TEST(WrongModel, HybridsAreRefusedAndNamed) {
  const auto set = [](const char* key, Json value) {
    return [key, value](Json& config, std::map<std::string, Tensor>&) { config[key] = value; };
  };
  const std::string expert = "backbone.layers.1.mixer.experts.3.up_proj.weight";
  ExpectAllRefused(
      "tests/golden/nh_moe8_g4_n16",
      {{"expert_missing", [&](Json&, auto& t) { t.erase(expert); }, 65, {expert, "missing"}},
       {"expert_misshapen",
        [&](Json&, auto& t) {
          Resize(t, expert, Shape{12, 23});
        },
        65,
        {expert, "(12, 24)", "(12, 23)"}},
       {"more_experts", set("n_routed_experts", 9), 65, {"gate.weight", "(9, 24)"}},
       {"countless_experts",
        [](Json& c, auto&) {
          c["hybrid_override_pattern"] = "M" + std::string(4095, 'E');
          c["n_routed_experts"] = 16384;
        },
        65,
        {"n_routed_experts"}},
       {"countless_layers", set("hybrid_override_pattern", std::string(5000, 'M')), 65, {"4096"}},
       {"wide_attention", set("head_dim", 262144), 65, {"attention"}},
       {"latent", set("moe_latent_size", 8), 65, {"fc1_latent_proj.weight", "missing"}},
       {"other_pattern",
        set("hybrid_override_pattern", "MEM*E-"),
        65,
        {"backbone.layers.5.mixer.up_proj.weight"}},
       {"unknown_tensor",
        [](Json&, auto& t) { Resize(t, "backbone.layers.0.new", Shape{2}); },
        65,
        {"unknown"}}});
  ExpectAllRefused(
      "tests/golden/gr_moe6_g1_n32",
      {{"fewer_experts", set("num_local_experts", 5), 65, {"input_linear.weight", "(5, 24, 24)"}},
       {"no_experts", set("num_local_experts", 0), 65, {"block_sparse_moe", "unknown"}},
       {"nan_factor",
        set("residual_multiplier", Json::parse(R"({"__float__": "NaN"})")),
        65,
        {"residual_multiplier"}}});
  ExpectAllRefused("tests/golden/fh_plain_g1_n32",
                   {{"norm_missing", set("mamba_rms_norm", true), 65, {"mamba.norm.weight", "missing"}},
                    {"infinite_base",
                     set("rope_theta", Json::parse(R"({"__float__": "Infinity"})")),
                     65,
                     {"rope_theta"}}});
}

TEST(WrongModel, ConfigFilesThatAreNotConfigs) {
  for (const auto& [text, mention] : std::vector<std::pair<std::string, std::string>>{
           {"", "config.json"},
           {"{", "config.json"},
           {"[1, 2]", "config.json"},
           {"\xff\xfe{}", "config.json"},
           {std::string(1000, '['), "config.json"},
           {R"({"model_type": "mamba2", "model_type": "mamba2"})", "model_type"},
           {R"({"model_type": "mamba2", "hidden_size": 1e400})", "config.json"}}) {
    SCOPED_TRACE(text.substr(0, 40));
    const TempDir dir;
    dir.Write("config.json", text);
    dir.Write("model.safetensors", ReadFile(kGoodModel + "/model.safetensors"));
    ExpectRun(dir.path(), 65, {mention});
  }
  const TempDir empty;
  empty.Write("config.json", ReadFile(kGoodModel + "/config.json"));
  ExpectRun(empty.path(), 66, {"model.safetensors", empty.path()});
}

struct WrongGguf {
  std::string name;
  std::function<void(GgufKeys& keys, GgufTensors& tensors)> change;
  std::vector<std::string> mentions;
};

GgufValue& KeyOf(GgufKeys& keys, const std::string& name) {
  for (auto& [key, value] : keys) {
    if (key == name) return value;
  }
  throw std::out_of_range(name);
}

std::vector<WrongGguf> WrongGgufs() {
  const auto set = [](const char* key, GgufValue value) {
    return [key, value](GgufKeys& keys, GgufTensors&) { KeyOf(keys, key) = value; };
  };
  return {
      {"architecture", set("general.architecture", std::string("llama")), {"llama"}},
      {"state_array", set("mamba2.ssm.state_size", std::vector<uint32_t>{16, 16}), {"mamba2.ssm.state_size"}},
      {"state_zero", set("mamba2.ssm.state_size", uint32_t{0}), {"mamba2.ssm.state_size"}},
      {"state_text", set("mamba2.ssm.state_size", std::string("16")), {"mamba2.ssm.state_size"}},
      {"state_wrong", set("mamba2.ssm.state_size", uint32_t{8}), {"ssm_in.weight"}},
      {"layers_huge", set("mamba2.block_count", uint32_t{4000000000u}), {"mamba2.block_count"}},
      {"layers_more", set("mamba2.block_count", uint32_t{3}), {"blk.2."}},
      {"heads", set("mamba2.ssm.time_step_rank", uint32_t{3}), {"mamba2.ssm.inner_size"}},
      {"groups", set("mamba2.ssm.group_count", uint32_t{3}), {"groups"}},
      {"epsilon_nan",
       set("mamba2.attention.layer_norm_rms_epsilon", std::nanf("")),
       {"layer_norm_rms_epsilon"}},
      {"key_missing",
       [](GgufKeys& keys, GgufTensors&) {
         std::erase_if(keys, [](auto& k) { return k.first == "mamba2.ssm.inner_size"; });
       },
       {"mamba2.ssm.inner_size"}},
      {"tensor_missing", [](GgufKeys&, GgufTensors& t) { t.pop_back(); }, {"output_norm.weight"}},
      {"tensor_extra",
       [](GgufKeys&, GgufTensors& t) { t.emplace_back("blk.9.extra", t.back().second); },
       {"blk.9.extra"}},
      {"vocabulary",
       [](GgufKeys& keys, GgufTensors&) {
         keys.emplace_back("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
       },
       {"token_embd.weight", "(2, 32)"}},
  };
}

void ExpectAllGgufRefused(const std::string& good, const std::vector<WrongGguf>& changes) {
  const Model model = LoadModel(OpenCheckpoint(good));
  for (const WrongGguf& wrong : changes) {
    SCOPED_TRACE(wrong.name);
    GgufKeys keys = MakeGgufKeys(model.config(), DType::kF32);
    GgufTensors tensors = MakeGgufTensors(model, DType::kF32);
    wrong.change(keys, tensors);
    const TempDir dir;
    SaveGguf(dir.File("m.gguf"), keys, tensors);
    std::vector<std::string> mentions = wrong.mentions;
    mentions.push_back("m.gguf");
    ExpectRun(dir.File("m.gguf"), 65, mentions);
  }
}

TEST(WrongModel, GgufFilesAreRefusedAndNamed) { ExpectAllGgufRefused(kGoodModel, WrongGgufs()); }

TEST(WrongModel, HybridGgufFilesAreRefusedAndNamed) {
  const auto set = [](const char* key, GgufValue value) {
    return [key, value](GgufKeys& keys, GgufTensors&) { KeyOf(keys, key) = value; };
  };
  const auto drop = [](const char* name) {
    return [name](GgufKeys&, GgufTensors& t) {
      std::erase_if(t, [&](auto& item) { return item.first == name; });
    };
  };
  using Counts = std::vector<uint32_t>;
  ExpectAllGgufRefused(
      "tests/golden/nh_moe8_g4_n16",
      {{"kinds_short", set("nemotron_h_moe.attention.head_count_kv", Counts{0, 0, 2}), {"head_count_kv"}},
       {"kinds_huge",
        set("nemotron_h_moe.feed_forward_length", Counts{0, 4000000000u, 0, 0, 12, 0}),
        {"feed_forward_length"}},
       {"kinds_text", set("nemotron_h_moe.attention.head_count_kv", std::string("2")), {"head_count_kv"}},
       {"two_kv", set("nemotron_h_moe.attention.head_count_kv", Counts{0, 0, 1, 2, 0, 0}), {"head_count_kv"}},
       {"chosen", set("nemotron_h_moe.expert_used_count", uint32_t{9}), {"expert_used_count"}},
       {"groups", set("nemotron_h_moe.expert_group_count", uint32_t{3}), {"expert_group_used_count"}},
       {"nextn",
        [](GgufKeys& keys, GgufTensors&) {
          keys.emplace_back("nemotron_h_moe.nextn_predict_layers", uint32_t{6});
        },
        {"nextn_predict_layers"}},
       {"experts_missing", drop("blk.1.ffn_up_exps.weight"), {"blk.1.ffn_up_exps.weight", "missing"}}});
  ExpectAllGgufRefused(
      "tests/golden/bb_g1_n32",
      {{"rotated", set("granitehybrid.rope.dimension_count", uint32_t{10}), {"dimension_count"}},
       {"scale", set("granitehybrid.logit_scale", std::nanf("")), {"logit_scale"}},
       {"base", set("granitehybrid.rope.freq_base", 0.0f), {"freq_base"}}});
  ExpectAllGgufRefused(
      "tests/golden/fh_norm_g2_n16",
      {{"no_attention", set("falcon-h1.attention.head_count_kv", uint32_t{0}), {"head_count_kv"}},
       {"norm", drop("blk.1.ffn_norm"), {"blk.1.ffn_norm", "missing"}}});
}

}  // namespace
}  // namespace ghost
