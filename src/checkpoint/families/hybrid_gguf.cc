#include "checkpoint/families/hybrid_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/config_reader.h"

namespace ghost {

std::vector<int64_t> GgufPerLayer(const GgufFile& file, const std::string& key, size_t layers) {
  const auto it = file.keys.find(key);
  if (it == file.keys.end()) return std::vector<int64_t>(layers, 0);
  std::vector<int64_t> values;
  const bool is_list = std::visit(
      [](const auto& v) {
        return requires { v.size(); };
      },
      it->second);
  if (is_list) {
    values = GgufInts(file, key);
  } else {
    values.assign(layers, static_cast<int64_t>(std::min<uint64_t>(GgufUint(file, key), kMaxWidth + 1)));
  }
  const bool fits = values.size() == layers &&
                    std::ranges::all_of(values, [](int64_t v) { return v >= 0 && v <= kMaxWidth; });
  if (!fits) {
    ThrowInconsistentConfig(file.path, key, fmt::format("{} numbers from 0 to {}", layers, kMaxWidth),
                            fmt::format("{} numbers", values.size()));
  }
  return values;
}

bool GgufLayerHas(const GgufFile& file, const HybridModel& model, LayerKind kind, const char* tensor) {
  const auto layer = std::ranges::find(model.kinds, kind) - model.kinds.begin();
  return file.tensors.tensors.contains(fmt::format("blk.{}.{}", layer, tensor));
}

void ReadGgufRope(const GgufFile& file, const std::string& architecture, AttentionDims& attention) {
  const std::string width = architecture + ".rope.dimension_count", base = architecture + ".rope.freq_base";
  const auto head_dim = static_cast<uint64_t>(attention.head_dim);
  const uint64_t rotated = GgufUint(file, width, head_dim);
  if (rotated > head_dim)
    ThrowInconsistentConfig(file.path, width, "at most the width of a head", std::to_string(rotated));
  const double theta = CheckedRopeTheta(GgufFloat(file, base, 10000.0), base, file.path);
  SetRope(theta, static_cast<int>(rotated), file.path, attention);
}

float GgufFactor(const GgufFile& file, const std::string& key, float fallback) {
  const auto factor = static_cast<float>(GgufFloat(file, key, fallback));
  if (!std::isfinite(factor))
    ThrowInconsistentConfig(file.path, key, "a finite number", fmt::format("{}", factor));
  return factor == 0.0f ? fallback : factor;
}

HybridModel ReadGgufHybrid(const GgufFile& file, const std::string& architecture) {
  const auto key = [&](const char* name) { return architecture + "." + name; };
  HybridModel model;
  model.mixer = ReadGgufMixer(file, architecture);
  model.d_model = model.mixer.d_model;
  const std::string eps = key("attention.layer_norm_rms_epsilon");
  model.eps = CheckedEps(GgufFloat(file, eps), eps, file.path);
  model.vocab_size = GgufVocabulary(file);
  model.tied_head = !file.tensors.tensors.contains("output.weight");
  const size_t layers = GgufSize(file, key("block_count"), kMaxLayers);
  const std::vector<int64_t> kv = GgufPerLayer(file, key("attention.head_count_kv"), layers);
  int64_t kv_heads = 0;
  for (const int64_t one : kv) {
    model.kinds.push_back(one > 0 ? LayerKind::kAttention : LayerKind::kMamba);
    if (one > 0 && kv_heads > 0 && one != kv_heads)
      ThrowUnsupportedConfig(file.path, key("attention.head_count_kv"), "one number of all attention layers",
                             fmt::format("{} and {}", kv_heads, one));
    kv_heads = std::max(kv_heads, one);
  }
  if (kv_heads == 0) return model;
  const std::vector<int64_t> heads = GgufPerLayer(file, key("attention.head_count"), layers);
  const int64_t num_heads = std::max<int64_t>(1, *std::ranges::max_element(heads));
  const int64_t fallback = std::max<int64_t>(1, model.d_model / num_heads);
  const std::string width = key("attention.key_length");
  const int64_t head_dim = file.keys.contains(width) ? GgufSize(file, width, kMaxWidth) : fallback;
  const std::string value = key("attention.value_length");
  if (file.keys.contains(value) && GgufSize(file, value, kMaxWidth) != head_dim)
    ThrowUnsupportedConfig(file.path, value, std::to_string(head_dim), "another width than that of the keys");
  model.attention = MakeAttentionDims({.d_model = model.d_model,
                                       .heads = num_heads,
                                       .kv_heads = kv_heads,
                                       .head_dim = head_dim,
                                       .file = file.path});
  model.attention.bias = GgufLayerHas(file, model, LayerKind::kAttention, "attn_q.bias");
  model.attention.out_bias = GgufLayerHas(file, model, LayerKind::kAttention, "attn_output.bias");
  return model;
}

void AddGgufSize(const std::string& architecture, const char* key, int64_t value, GgufKeys& keys) {
  keys.emplace_back(architecture + "." + key, static_cast<uint32_t>(value));
}

GgufKeys MakeGgufHybridKeys(const ModelConfig& config, const std::string& architecture, bool kv_per_layer) {
  GgufKeys keys;
  const auto add = [&](const char* key, int64_t value) { AddGgufSize(architecture, key, value, keys); };
  add("context_length", 1 << 20);
  add("embedding_length", config.d_model);
  add("block_count", config.num_layers());
  keys.emplace_back(architecture + ".attention.layer_norm_rms_epsilon", config.norm_eps);
  const bool has_attention = !config.attentions.empty();
  const AttentionDims attention = has_attention ? config.attentions.front() : AttentionDims{};
  add("attention.head_count", std::max(1, attention.num_heads));
  if (has_attention) {
    add("attention.key_length", attention.head_dim);
    add("attention.value_length", attention.head_dim);
  }
  if (kv_per_layer) {
    std::vector<uint32_t> kv;
    for (const LayerSpec& layer : config.layers)
      kv.push_back(LayerHas(layer, PartKind::kAttention) ? static_cast<uint32_t>(attention.num_kv_heads) : 0);
    keys.emplace_back(architecture + ".attention.head_count_kv", kv);
  } else {
    add("attention.head_count_kv", attention.num_kv_heads);
  }
  for (auto& key : MakeGgufMixerKeys(config.mixers.front(), architecture)) keys.push_back(std::move(key));
  return keys;
}

std::string WhyNoGgufHybrid(const ModelConfig& config) {
  for (const MixerDims& d : config.mixers) {
    if (d.gate_form == GateForm::kNormThenGate) return "a gate after the norm";
  }
  return "";
}

}  // namespace ghost
