#include "checkpoint/families/zamba2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/json_edit.h"
#include "checkpoint/config_reader.h"
#include "checkpoint/families/config_json.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

MixerSizes ReadMixerSizes(const Json& json, const std::string& file) {
  MixerSizes s;
  s.file = file;
  s.inner_key = "hidden_size * mamba_expand";
  const auto read = [&](std::initializer_list<const char*> keys, int64_t fallback, int64_t max) {
    return JsonInt(json, SpellingIn(json, keys), fallback, 1, max, file);
  };
  s.d_model = read({"hidden_size"}, 2560, kMaxWidth);
  s.groups = read({"mamba_ngroups"}, 1, kMaxWidth);
  s.state_dim = read({"mamba_d_state", "state_size"}, 64, kMaxState);
  s.conv_width = read({"mamba_d_conv", "conv_dimension"}, 4, 64);
  const std::string expand = SpellingIn(json, {"mamba_expand", "expansion_factor"});
  s.inner_size = CheckedInnerSize(JsonDouble(json, expand, 2.0, file), s.d_model, expand, file);
  // Either number gives the other; the file may say one or both.
  const int64_t named_dim = read({"mamba_headdim"}, std::max<int64_t>(1, s.inner_size / 8), kMaxWidth);
  s.heads = read({"n_mamba_heads"}, std::max<int64_t>(1, s.inner_size / named_dim), kMaxWidth);
  s.head_dim = json.contains("n_mamba_heads") ? std::max<int64_t>(1, s.inner_size / s.heads) : named_dim;
  return s;
}

// Which layers are hybrid, from `layers_block_type` or the older `hybrid_layer_ids`.
std::vector<int> ReadHybridLayers(const Json& json, int num_layers, const std::string& file) {
  std::vector<int> layers;
  const std::string kinds = "layers_block_type", ids = "hybrid_layer_ids";
  if (const auto it = json.find(kinds); it != json.end() && !it->is_null()) {
    if (!it->is_array() || it->size() != static_cast<size_t>(num_layers)) {
      ThrowInconsistentConfig(file, kinds, fmt::format("a list of {} layers", num_layers), it->dump());
    }
    for (int layer = 0; layer < num_layers; ++layer) {
      const Json& kind = (*it)[static_cast<size_t>(layer)];
      if (kind == "hybrid") {
        layers.push_back(layer);
      } else if (kind != "mamba" && kind != "linear_attention") {
        ThrowUnsupportedConfig(file, fmt::format("{}[{}]", kinds, layer), "mamba, linear_attention or hybrid",
                               kind.dump());
      }
    }
    return layers;
  }
  if (const auto it = json.find(ids); it != json.end() && !it->is_null()) {
    const std::string expected = fmt::format("ascending numbers from 0 to {}", num_layers - 1);
    if (!it->is_array()) ThrowInconsistentConfig(file, ids, expected, it->dump());
    for (const Json& id : *it) {
      const bool fits = id.is_number_unsigned() && id.get<uint64_t>() < static_cast<uint64_t>(num_layers);
      if (!fits || (!layers.empty() && id.get<int>() <= layers.back()))
        ThrowInconsistentConfig(file, ids, expected, it->dump());
      layers.push_back(id.get<int>());
    }
    return layers;
  }
  if (num_layers == 54) return {6, 12, 18, 24, 30, 36, 42, 47, 51};  // the default of the library's class
  ThrowInconsistentConfig(file, kinds, "the kind of every layer", "neither it nor " + ids);
}

// 0 without position embedding.
double ReadMemoryRopeTheta(const Json& json, const std::string& file) {
  if (!JsonBool(json, "use_mem_rope", false, file)) return 0.0;
  if (JsonBool(json, "use_long_context", false, file))
    ThrowUnsupportedConfig(file, "use_long_context", "false", "true");
  return ReadRopeTheta(json, 10000.0, file);
}

// What the file says of the shared blocks and their uses.
Zamba2Shared ReadShared(const Json& json, int64_t d_model, const std::string& file) {
  Zamba2Shared s;
  const auto read = [&](std::initializer_list<const char*> keys, int64_t fallback) {
    return static_cast<int>(JsonInt(json, SpellingIn(json, keys), fallback, 1, kMaxWidth, file));
  };
  s.num_blocks = read({"num_mem_blocks"}, 1);
  s.num_heads = read({"num_attention_heads"}, 32);
  s.num_kv_heads = read({"num_key_value_heads"}, s.num_heads);
  s.mlp_width = read({"intermediate_size", "ffn_hidden_size"}, std::min(4 * d_model, kMaxWidth));
  s.adapter_rank = read({"adapter_rank", "lora_rank"}, 128);
  s.attention_adapters = JsonBool(
      json, SpellingIn(json, {"use_shared_attention_adapter", "use_shared_attention_lora"}), false, file);
  s.rope_theta = ReadMemoryRopeTheta(json, file);
  if (2 * d_model % s.num_heads != 0) {
    ThrowInconsistentConfig(file, "num_attention_heads", fmt::format("a divisor of {}", 2 * d_model),
                            std::to_string(s.num_heads));
  }
  if (s.num_heads % s.num_kv_heads != 0) {
    ThrowInconsistentConfig(file, "num_key_value_heads", fmt::format("a divisor of {}", s.num_heads),
                            std::to_string(s.num_kv_heads));
  }
  s.head_dim = static_cast<int>(2 * d_model / s.num_heads);
  if (s.rope_theta > 0.0 && s.head_dim % 2 != 0)
    ThrowInconsistentConfig(file, "num_attention_heads", "an even head width", std::to_string(s.head_dim));
  return s;
}

ModelConfig ParseZamba2(const Json& json, const std::string& file) {
  const std::string activation = JsonString(json, "hidden_act", "gelu", file);
  if (activation != "gelu") ThrowUnsupportedConfig(file, "hidden_act", "gelu (the exact one)", activation);
  const MixerSizes sizes = ReadMixerSizes(json, file);
  const auto layers = static_cast<int>(JsonInt(json, "num_hidden_layers", 54, 1, kMaxLayers, file));
  MixerDims mixer = MakeMixerDims(sizes);
  mixer.in_bias = mixer.out_bias = JsonBool(json, "add_bias_linear", false, file);
  // No clamp of the step size: the models were trained without, though the library's slow path has one from
  // time_step_min. `use_conv_bias` is not read by the library either: there always is one.
  const auto vocab_size = static_cast<int>(JsonInt(json, "vocab_size", 32000, 1, kMaxVocab, file));
  const float eps = CheckedEps(JsonDouble(json, "rms_norm_eps", 1e-5, file), "rms_norm_eps", file);
  ModelConfig config = MakeZamba2(mixer, layers, ReadHybridLayers(json, layers, file),
                                  ReadShared(json, sizes.d_model, file), vocab_size, eps);
  config.tied_head = JsonBool(json, "tie_word_embeddings", true, file);
  return config;
}

std::string LayerPrefix(int layer) { return "model.layers." + std::to_string(layer) + "."; }

// The tensors of a shared block are stored under one, or every, layer that uses it.
void NameShared(const std::vector<int>& layers_of_uses, ModelConfig& config) {
  for (size_t i = 0; i < config.shared_blocks.size(); ++i) {
    PartNames names;
    for (const SharedUseDims& use : config.shared_uses) {
      if (use.block != static_cast<int>(i)) continue;
      const int layer = layers_of_uses[static_cast<size_t>(use.number)];
      const std::string prefix = LayerPrefix(layer) + "shared_transformer.";
      if (names.prefix.empty()) {
        names.prefix = prefix;
      } else {
        names.alias_prefixes.push_back(prefix);
      }
    }
    SharedBlockDims& block = config.shared_blocks[i];
    block.names = names;
    block.attention.names = names.Inside("self_attn.");
    block.mlp.names = names.Inside("feed_forward.");
  }
}

void ArrangeZamba2(ModelConfig& config) {
  config.embedding = {"model.embed_tokens.weight"};
  config.final_norm = {"model.final_layernorm.weight"};
  config.head = {"lm_head.weight"};
  std::vector<int> layers_of_uses;
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    StepSpec& step = config.layers[static_cast<size_t>(layer)].steps.front();
    const bool hybrid = step.shared_use != kNoSharedUse;
    const PartNames decoder{LayerPrefix(layer) + (hybrid ? "mamba_decoder." : "")};
    step.norm = decoder.Of("input_layernorm.weight");
    config.mixers[static_cast<size_t>(step.parts.front().index)].names = decoder.Inside("mamba.");
    if (!hybrid) continue;
    layers_of_uses.push_back(layer);
    config.shared_uses[static_cast<size_t>(step.shared_use)].link = {LayerPrefix(layer) + "linear.weight"};
  }
  NameShared(layers_of_uses, config);
}

OrderedJson MakeZamba2Json(const ModelConfig& config) {
  const MixerDims& d = config.mixers.front();  // all mixers of the family agree but for N
  OrderedJson kinds = OrderedJson::array(), hybrid_layers = OrderedJson::array();
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const bool hybrid = config.layers[static_cast<size_t>(layer)].steps.front().shared_use != kNoSharedUse;
    kinds.push_back(hybrid ? "hybrid" : "mamba");
    if (hybrid) hybrid_layers.push_back(layer);
  }
  OrderedJson json = {
      {"architectures", {kZamba2Family.transformers_class}},
      {"model_type", "zamba2"},
      {"hidden_size", config.d_model},
      {"num_hidden_layers", config.num_layers()},
      {"layers_block_type", kinds},
      {"hybrid_layer_ids", hybrid_layers},
      {"n_mamba_heads", d.num_heads},
      {"mamba_headdim", d.head_dim},
      {"mamba_ngroups", d.num_groups()},
      {"mamba_d_state", LargestStateSize(config)},
      {"mamba_d_conv", d.conv_width},
      {"mamba_expand", ExpandOf(d)},
  };
  if (!config.shared_uses.empty()) {
    const SharedUseDims& use = config.shared_uses.front();
    const SharedBlockDims& block = config.shared_blocks.front();
    const AttentionDims& a = block.attention;
    json.update(OrderedJson{{"num_mem_blocks", config.shared_blocks.size()},
                            {"num_attention_heads", a.num_heads},
                            {"num_key_value_heads", a.num_kv_heads},
                            {"attention_hidden_size", a.d_input},
                            {"attention_head_dim", a.head_dim},
                            {"intermediate_size", block.mlp.width},
                            {"adapter_rank", use.adapter_rank},
                            {"use_shared_attention_adapter", use.attention_adapters},
                            {"use_mem_rope", a.rope_theta > 0}});
  }
  json.update(OrderedJson{{"hidden_act", "gelu"},
                          {"add_bias_linear", d.in_bias},
                          {"use_conv_bias", true},
                          {"vocab_size", config.vocab_size},
                          {"rms_norm_eps", ShortestDecimal(config.norm_eps)},
                          {"tie_word_embeddings", config.tied_head},
                          {"bos_token_id", 1},
                          {"eos_token_id", 2},
                          {"pad_token_id", 0}});
  if (!config.shared_blocks.empty()) {
    const double theta = config.shared_blocks.front().attention.rope_theta;
    if (theta > 0) json["rope_theta"] = theta;
  }
  return json;
}

// Some files have the older key.
std::vector<std::string_view> Zamba2StateSizePath(const ModelConfig&, const std::string& text,
                                                  const std::string& file) {
  const std::vector<std::string_view> older = {"state_size"};
  if (HasJsonField(text, older, file)) return older;
  return {"mamba_d_state"};
}

// All have headdim 64, expand 2, an MLP 4 times as wide as the model, 32 attention heads, adapters of rank
// 128.
struct Zamba2Shape {
  std::string_view name;
  int d_model, layers, heads, state, groups, blocks;
  bool attention_adapters, rope;
  std::vector<int> hybrid_layers;
};

const std::vector<Zamba2Shape>& Zamba2Shapes() {
  static const std::vector<Zamba2Shape> shapes = {
      {"zamba2-1.2b", 2048, 38, 64, 128, 1, 1, true, true, {5, 11, 17, 23, 29, 35}},
      {"zamba2-2.7b", 2560, 54, 80, 64, 1, 2, false, false, {6, 12, 18, 24, 30, 36, 42, 47, 51}},
      {"zamba2-7b",
       3584,
       81,
       112,
       64,
       2,
       2,
       false,
       true,
       {6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77}},
  };
  return shapes;
}

ModelConfig MakeReleasedZamba2(std::string_view name) {
  const Zamba2Shape& r = *std::ranges::find(Zamba2Shapes(), name, &Zamba2Shape::name);
  MixerDims mixer;
  mixer.d_model = r.d_model;
  mixer.num_heads = r.heads;
  mixer.head_dim = 64;
  mixer.conv_width = 4;
  mixer.SetGroups(UniformGroups(r.groups, r.state));
  return MakeZamba2(mixer, r.layers, r.hybrid_layers,
                    {.num_blocks = r.blocks,
                     .num_heads = 32,
                     .num_kv_heads = 32,
                     .head_dim = 2 * r.d_model / 32,
                     .mlp_width = 4 * r.d_model,
                     .adapter_rank = 128,
                     .attention_adapters = r.attention_adapters,
                     .rope_theta = r.rope ? 10000.0 : 0.0},
                    /*vocab_size=*/32000);
}

std::vector<ReleasedModel> ReleasedZamba2() {
  std::vector<ReleasedModel> models;
  for (const Zamba2Shape& r : Zamba2Shapes()) models.push_back({std::string(r.name), MakeReleasedZamba2});
  return models;
}

SharedBlockDims MakeBlock(const Zamba2Shared& s, int d_model, bool bias, float eps) {
  SharedBlockDims block;
  block.attention = {.d_input = 2 * d_model,
                     .d_model = d_model,
                     .num_heads = s.num_heads,
                     .num_kv_heads = s.num_kv_heads,
                     .head_dim = s.head_dim,
                     // As trained: half of the head's width belongs to the embeddings joined to the input.
                     .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.head_dim) / 2.0)),
                     .rope_theta = s.rope_theta,
                     .rotated = s.head_dim};
  block.mlp = {.d_model = d_model, .width = s.mlp_width, .bias = bias};
  block.eps = eps;
  return block;
}

}  // namespace

constinit const Family kZamba2Family = {.name = "zamba2",
                                        .title = "Zamba2",
                                        .transformers_class = "Zamba2ForCausalLM",
                                        .parse = ParseZamba2,
                                        .recognize = nullptr,
                                        .arrange = ArrangeZamba2,
                                        .fit = nullptr,
                                        .make_config = MakeZamba2Json,
                                        .state_size_path = Zamba2StateSizePath,
                                        .gguf = nullptr,
                                        .trainable = false,
                                        .released = ReleasedZamba2};

ModelConfig MakeZamba2(const MixerDims& mixer, int layers, const std::vector<int>& hybrid_layers,
                       const Zamba2Shared& shared, int vocab_size, float eps) {
  ModelConfig config;
  config.family = kZamba2Family.name;
  config.d_model = mixer.d_model;
  config.vocab_size = config.token_count = vocab_size;
  config.norm_eps = eps;
  AddMixerLayers(mixer, layers, eps, config);
  const int num_blocks = std::min(shared.num_blocks, static_cast<int>(hybrid_layers.size()));
  for (const int layer : hybrid_layers) {
    const auto number = static_cast<int>(config.shared_uses.size());
    config.layers[static_cast<size_t>(layer)].steps.front().shared_use = number;
    config.shared_uses.push_back({.block = number % num_blocks,
                                  .number = number,
                                  .adapter_rank = shared.adapter_rank,
                                  .attention_adapters = shared.attention_adapters});
  }
  config.shared_blocks.assign(static_cast<size_t>(num_blocks),
                              MakeBlock(shared, mixer.d_model, mixer.in_bias, eps));
  ArrangeZamba2(config);
  return config;
}

}  // namespace ghost
