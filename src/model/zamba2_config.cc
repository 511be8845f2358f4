// The configuration of Zamba2 models, in the spellings of all releases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "model/config.h"
#include "model/config_parts.h"

namespace ghost {
namespace {

// The first of several spellings of a key that is there and not null; the first of all if none is.
std::string SpellingIn(const Json& json, std::initializer_list<const char*> spellings) {
  for (const char* key : spellings) {
    const auto it = json.find(key);
    if (it != json.end() && !it->is_null()) return key;
  }
  return *spellings.begin();
}

UniformSizes ReadMixerSizes(const Json& json, const std::string& file) {
  UniformSizes s;
  s.file = file;
  s.inner_key = "hidden_size * mamba_expand";
  const auto read = [&](std::initializer_list<const char*> keys, int64_t fallback, int64_t max) {
    return JsonInt(json, SpellingIn(json, keys), fallback, 1, max, file);
  };
  s.d_model = read({"hidden_size"}, 2560, kMaxWidth);
  s.layers = read({"num_hidden_layers"}, 54, kMaxLayers);
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
double ReadRopeTheta(const Json& json, const std::string& file) {
  if (!JsonBool(json, "use_mem_rope", false, file)) return 0.0;
  if (JsonBool(json, "use_long_context", false, file))
    ThrowUnsupportedConfig(file, "use_long_context", "false", "true");
  const auto nested = json.find("rope_parameters");
  const bool has_nested = nested != json.end() && nested->is_object();
  if (has_nested) {
    const std::string type = JsonString(*nested, "rope_type", "default", file);
    if (type != "default") ThrowUnsupportedConfig(file, "rope_parameters.rope_type", "default", type);
  }
  const double theta =
      JsonDouble(has_nested && nested->contains("rope_theta") ? *nested : json, "rope_theta", 10000.0, file);
  if (!(theta >= 1.0 && std::isfinite(theta)))
    ThrowInconsistentConfig(file, "rope_theta", "1 or more", fmt::format("{}", theta));
  return theta;
}

SharedBlockDims ReadSharedBlock(const Json& json, int64_t d_model, const std::string& file) {
  SharedBlockDims s;
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
  s.rope_theta = ReadRopeTheta(json, file);
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

}  // namespace

ModelConfig ParseZamba2Config(const Json& json, const std::string& file) {
  const std::string activation = JsonString(json, "hidden_act", "gelu", file);
  if (activation != "gelu") ThrowUnsupportedConfig(file, "hidden_act", "gelu (the exact one)", activation);
  const UniformSizes sizes = ReadMixerSizes(json, file);
  ModelConfig config;
  config.family = Family::kZamba2;
  config.layout = Layout::kHuggingFace;
  config.d_model = static_cast<int>(sizes.d_model);
  config.blocks = MakeBlocks(sizes);
  config.hybrid_layers = ReadHybridLayers(json, config.num_layers(), file);
  config.shared = ReadSharedBlock(json, sizes.d_model, file);
  if (config.num_hybrids() > 0)
    config.shared.num_blocks = std::min(config.shared.num_blocks, config.num_hybrids());
  config.vocab_size = config.token_count =
      static_cast<int>(JsonInt(json, "vocab_size", 32000, 1, kMaxVocab, file));
  config.norm_eps = CheckedEps(JsonDouble(json, "rms_norm_eps", 1e-5, file), "rms_norm_eps", file);
  config.tied_head = JsonBool(json, "tie_word_embeddings", true, file);
  config.projection_bias = JsonBool(json, "add_bias_linear", false, file);
  // No clamp of the step size: the models were trained without, though the library's slow path has one from
  // time_step_min (--dt-min). `use_conv_bias` is not looked at by the library either: there always is one.
  return config;
}

}  // namespace ghost
