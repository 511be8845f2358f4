#include "checkpoint/families/hybrid_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "checkpoint/config_reader.h"
#include "checkpoint/families/config_json.h"
#include "checkpoint/family.h"

namespace ghost {

bool HybridModel::has(LayerKind kind) const { return std::ranges::find(kinds, kind) != kinds.end(); }

ModelConfig BeginModel(const HybridModel& model, std::string_view family, Layout layout) {
  ModelConfig config;
  config.family = family;
  config.layout = layout;
  config.d_model = model.d_model;
  config.vocab_size = config.token_count = model.vocab_size;
  config.norm_eps = model.eps;
  config.tied_head = model.tied_head;
  config.embedding_factor = model.embedding_factor;
  config.head_factor = model.head_factor;
  return config;
}

PartRef AddMixer(const HybridModel& model, ModelConfig& config) {
  MixerDims dims = model.mixer;
  dims.layer = config.num_layers();
  dims.gate_eps = model.eps;
  return AddPart(std::move(dims), config);
}

StepSpec MakeStep(const HybridModel& model, std::vector<PartRef> parts) {
  StepSpec step;
  step.eps = model.eps;
  step.parts = std::move(parts);
  return step;
}

void NameParts(const LayerSpec& layer, const PartNames& block, const PartFolders& folders,
               ModelConfig& config) {
  const auto folder = [&](PartKind kind) -> const std::string& {
    switch (kind) {
      case PartKind::kAttention:
        return folders.attention;
      case PartKind::kMlp:
        return folders.mlp;
      case PartKind::kExperts:
        return folders.experts;
      case PartKind::kMixer:
        break;
    }
    return folders.mixer;
  };
  for (const StepSpec& step : layer.steps) {
    for (const PartRef ref : step.parts)
      VisitPart(
          ref, [&](auto& dims) { dims.names = block.Inside(folder(ref.kind)); }, config);
  }
}

MixerDims ReleasedMixer(int d_model, int heads, int head_dim, int groups, int state_dim) {
  MixerDims dims;
  dims.d_model = d_model;
  dims.num_heads = heads;
  dims.head_dim = head_dim;
  dims.conv_width = 4;
  dims.SetGroups(UniformGroups(groups, state_dim));
  return dims;
}

void RefuseHybridOptions(const Json& json, const std::string& file) {
  const auto refuse = [&](const std::string& key, const std::string& expected) {
    const auto it = json.find(key);
    if (it != json.end() && !it->is_null()) ThrowUnsupportedConfig(file, key, expected, it->dump());
  };
  refuse("quantization_config", "weights that are not quantised (choose the BF16 release)");
  refuse("sliding_window", "attention over all tokens");
}

void RequireWord(const Json& json, const std::string& key, const std::string& expected,
                 const std::string& file) {
  const std::string word = JsonString(json, key, expected, file);
  if (word != expected) ThrowUnsupportedConfig(file, key, expected, word);
}

float ReadFactor(const Json& json, const std::string& key, float fallback, const std::string& file) {
  const auto factor = static_cast<float>(JsonDouble(json, key, fallback, file));
  if (!std::isfinite(factor) || factor == 0.0f)
    ThrowInconsistentConfig(file, key, "a finite number other than 0", fmt::format("{}", factor));
  return factor;
}

void ReadFactors(const Json& json, const std::string& key, const std::string& file,
                 std::vector<float*> factors) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return;
  if (!it->is_array() || it->size() != factors.size())
    ThrowInconsistentConfig(file, key, fmt::format("{} numbers", factors.size()), it->dump());
  for (size_t i = 0; i < factors.size(); ++i) {
    *factors[i] = static_cast<float>(JsonToDouble((*it)[i], key, file));
    if (!std::isfinite(*factors[i]) || *factors[i] == 0.0f)
      ThrowInconsistentConfig(file, key, "finite numbers other than 0", it->dump());
  }
}

std::vector<LayerKind> ReadLayerKinds(const Json& list, const std::string& key, const std::string& file) {
  if (!list.is_array() || list.empty() || list.size() > static_cast<size_t>(kMaxLayers))
    ThrowInconsistentConfig(file, key, fmt::format("a list of 1 to {} layers", kMaxLayers), list.dump());
  std::vector<LayerKind> kinds;
  for (const Json& word : list) {
    if (word == "mamba" || word == "linear_attention") {
      kinds.push_back(LayerKind::kMamba);
    } else if (word == "attention" || word == "full_attention") {
      kinds.push_back(LayerKind::kAttention);
    } else if (word == "mlp") {
      kinds.push_back(LayerKind::kMlp);
    } else if (word == "moe") {
      kinds.push_back(LayerKind::kExperts);
    } else {
      ThrowUnsupportedConfig(file, fmt::format("{}[{}]", key, kinds.size()),
                             "mamba, attention, mlp or moe, or linear_attention or full_attention",
                             word.dump());
    }
  }
  return kinds;
}

MixerDims ReadMambaKeys(const Json& json, int64_t d_model, int64_t inner_size, const std::string& file) {
  const auto read = [&](const char* key, int64_t fallback, int64_t max) {
    return JsonInt(json, key, fallback, 1, max, file);
  };
  MixerSizes s;
  s.file = file;
  s.inner_key = inner_size > 0 ? "mamba_d_ssm" : "hidden_size * mamba_expand";
  s.d_model = d_model;
  s.inner_size = inner_size > 0 ? inner_size
                                : CheckedInnerSize(JsonDouble(json, "mamba_expand", 2.0, file), d_model,
                                                   "mamba_expand", file);
  s.heads = read("mamba_n_heads", 128, kMaxWidth);
  const auto width = json.find("mamba_d_head");
  const bool derived = width == json.end() || width->is_null() || *width == "auto";
  s.head_dim = derived ? std::max<int64_t>(1, s.inner_size / s.heads) : read("mamba_d_head", 64, kMaxWidth);
  s.groups = read("mamba_n_groups", 1, kMaxWidth);
  s.state_dim = read("mamba_d_state", 256, kMaxState);
  s.conv_width = read("mamba_d_conv", 4, 64);
  MixerDims dims = MakeMixerDims(s);
  dims.conv_bias = JsonBool(json, "mamba_conv_bias", true, file);
  dims.in_bias = dims.out_bias = JsonBool(json, "mamba_proj_bias", false, file);
  ReadTimeStepLimit(json, "time_step_limit", file, dims);
  return dims;
}

AttentionDims ReadAttentionKeys(const Json& json, int64_t d_model, int64_t default_head_dim,
                                int64_t default_kv_heads, const std::string& file) {
  const int64_t heads = JsonInt(json, "num_attention_heads", 32, 1, kMaxWidth, file);
  if (default_kv_heads == 0) default_kv_heads = heads;
  const int64_t kv_heads = JsonInt(json, "num_key_value_heads", default_kv_heads, 1, kMaxWidth, file);
  const std::string width = SpellingIn(json, {"head_dim", "attention_head_dim"});
  int64_t head_dim = JsonInt(json, width, default_head_dim, 0, kMaxWidth, file);
  if (head_dim == 0) {
    if (d_model % heads != 0) {
      ThrowInconsistentConfig(file, "num_attention_heads", fmt::format("a divisor of {}", d_model),
                              std::to_string(heads));
    }
    head_dim = d_model / heads;
  }
  return MakeAttentionDims(
      {.d_model = d_model, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .file = file});
}

void SetRope(double theta, int rotated, const std::string& file, AttentionDims& attention) {
  if (rotated < 2 || rotated % 2 != 0)
    ThrowInconsistentConfig(file, "rotated width of a head", "an even number", std::to_string(rotated));
  attention.rope_theta = theta;
  attention.rotated = rotated;
}

bool LayerHas(const LayerSpec& layer, PartKind kind) {
  return std::ranges::any_of(layer.steps, [&](const StepSpec& step) {
    return std::ranges::any_of(step.parts, [&](const PartRef ref) { return ref.kind == kind; });
  });
}

OrderedJson LayerWords(const ModelConfig& config) {
  OrderedJson words = OrderedJson::array();
  for (const LayerSpec& layer : config.layers)
    words.push_back(LayerHas(layer, PartKind::kMixer) ? "mamba" : "attention");
  return words;
}

OrderedJson BeginHybridJson(const ModelConfig& config, std::string_view eps_key) {
  const Family& family = FamilyOf(config);
  return {{"architectures", {family.transformers_class}},
          {"model_type", family.name},
          {"hidden_size", config.d_model},
          {"vocab_size", config.vocab_size},
          {std::string(eps_key), ShortestDecimal(config.norm_eps)},
          {"tie_word_embeddings", config.tied_head}};
}

void AddMambaKeys(const ModelConfig& config, OrderedJson& json) {
  const MixerDims& d = config.mixers.front();  // all mixers of these families agree but for N
  json.update(OrderedJson{{"mamba_d_state", LargestStateSize(config)},
                          {"mamba_n_groups", d.num_groups()},
                          {"mamba_n_heads", d.num_heads},
                          {"mamba_d_head", d.head_dim},
                          {"mamba_d_conv", d.conv_width},
                          {"mamba_expand", ExpandOf(d)},
                          {"mamba_conv_bias", d.conv_bias},
                          {"mamba_proj_bias", d.in_bias}});
  if (!std::isinf(d.dt_max) || d.dt_min > 0.0f)
    json["time_step_limit"] = {ShortestDecimal(d.dt_min), ShortestDecimal(d.dt_max)};
}

void AddAttentionKeys(const ModelConfig& config, OrderedJson& json) {
  if (config.attentions.empty()) return;
  const AttentionDims& a = config.attentions.front();
  json.update(OrderedJson{{"num_attention_heads", a.num_heads},
                          {"num_key_value_heads", a.num_kv_heads},
                          {"attention_bias", a.bias}});
  if (a.num_heads * a.head_dim != config.d_model) json["head_dim"] = a.head_dim;
  if (a.rope_theta > 0.0) json["rope_theta"] = a.rope_theta;
}

}  // namespace ghost
