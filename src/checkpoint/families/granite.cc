// Granite 4 H: a mixer or attention, then an MLP that every token passes and, in the larger models, experts
// beside it. Attention has its own scale and, in all releases, no positions. Every step adds a fixed multiple
// of its output to the residual stream.
#include "checkpoint/families/granite.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/config_reader.h"
#include "checkpoint/families/config_json.h"
#include "checkpoint/families/hybrid_gguf.h"
#include "checkpoint/families/hybrid_model.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

// In GGUF files gate and up are apart, and RoPE pairs neighbouring channels.
void ArrangeGranite(ModelConfig& config) {
  const bool gguf = config.layout == Layout::kGguf;
  config.embedding = {"model.embed_tokens.weight", {}, "token_embd.weight"};
  config.final_norm = {"model.norm.weight", {}, "output_norm.weight"};
  config.head = {"lm_head.weight", {}, "output.weight"};
  config.own_prefixes = gguf ? std::vector<std::string>{} : std::vector<std::string>{"model.", "lm_head."};
  const std::string shared = config.experts.empty() ? "" : "_shexp";
  for (AttentionDims& d : config.attentions)
    d.rope_pairs = gguf ? RopePairs::kNeighbours : RopePairs::kHalves;
  for (MlpDims& d : config.mlps) {
    d.joined = !gguf;
    d.gate_name = {.name = "gate", .gguf = "ffn_gate" + shared};
    d.up_name = {.name = "input_linear", .gguf = "ffn_up" + shared};
    d.down_name = {.name = "output_linear", .gguf = "ffn_down" + shared};
  }
  for (ExpertsDims& d : config.experts) {
    d.joined = !gguf;
    d.router_name = {.name = "router.layer", .alias = "router.weight", .gguf = "ffn_gate_inp"};
    d.gate_name = {.name = "gate", .gguf = "ffn_gate_exps"};
    d.up_name = {.name = "input_linear", .alias = "experts.gate_up_proj", .gguf = "ffn_up_exps"};
    d.down_name = {.name = "output_linear", .alias = "experts.down_proj", .gguf = "ffn_down_exps"};
  }
  for (int j = 0; j < config.num_layers(); ++j) {
    LayerSpec& layer = config.layers[static_cast<size_t>(j)];
    const PartNames block{fmt::format("model.layers.{}.", j), {}, fmt::format("blk.{}.", j)};
    layer.steps[0].norm = block.Of("input_layernorm.weight", "attn_norm.weight");
    layer.steps[1].norm = block.Of("post_attention_layernorm.weight", "ffn_norm.weight");
    NameParts(
        layer, block,
        {.mixer = "mamba.", .attention = "self_attn.", .mlp = "shared_mlp.", .experts = "block_sparse_moe."},
        config);
  }
}

ModelConfig MakeGranite(const HybridModel& model, Layout layout) {
  ModelConfig config = BeginModel(model, kGraniteFamily.name, layout);
  for (const LayerKind kind : model.kinds) {
    const PartRef first =
        kind == LayerKind::kMamba ? AddMixer(model, config) : AddPart(model.attention, config);
    std::vector<PartRef> second = {AddPart(model.mlp, config)};
    if (model.experts.width > 0) second.push_back(AddPart(model.experts, config));
    config.layers.push_back({{MakeStep(model, {first}), MakeStep(model, std::move(second))}});
  }
  for (MixerDims& d : config.mixers) d.factors.output = model.residual_factor;
  for (AttentionDims& d : config.attentions) d.out_factor = model.residual_factor;
  for (MlpDims& d : config.mlps) d.down_factor = model.residual_factor;
  for (ExpertsDims& d : config.experts) d.out_factor = model.residual_factor;
  ArrangeGranite(config);
  return config;
}

std::vector<LayerKind> ReadGraniteKinds(const Json& json, const std::string& file) {
  const auto layers = static_cast<size_t>(JsonInt(json, "num_hidden_layers", 32, 1, kMaxLayers, file));
  const std::string key = SpellingIn(json, {"layer_types", "layers_block_type"});
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return std::vector<LayerKind>(layers, LayerKind::kMamba);
  std::vector<LayerKind> kinds = ReadLayerKinds(*it, key, file);
  if (kinds.size() != layers)
    ThrowInconsistentConfig(file, key, fmt::format("{} layers", layers), fmt::format("{}", kinds.size()));
  for (const LayerKind kind : kinds) {
    if (kind != LayerKind::kMamba && kind != LayerKind::kAttention)
      ThrowUnsupportedConfig(file, key, "mamba and attention", it->dump());
  }
  return kinds;
}

MlpDims MakeSharedMlp(int d_model, int width) {
  return {.d_model = d_model, .width = width, .activation = Activation::kSilu};
}

// Experts whose weights are the softmax over the chosen ones. No experts: width 0.
ExpertsDims MakeRouted(int d_model, int64_t width, int64_t count, int64_t chosen) {
  if (count == 0) return {};
  ExpertsDims dims;
  dims.d_model = d_model;
  dims.width = static_cast<int>(width);
  dims.router = {.num_experts = static_cast<int>(count), .num_chosen = static_cast<int>(chosen)};
  dims.activation = Activation::kSilu;
  return dims;
}

ModelConfig ParseGranite(const Json& json, const std::string& file) {
  RefuseHybridOptions(json, file);
  RequireWord(json, "hidden_act", "silu", file);
  const auto size = [&](const char* key, int64_t fallback, int64_t min, int64_t max) {
    return JsonInt(json, key, fallback, min, max, file);
  };
  HybridModel m;
  m.d_model = static_cast<int>(size("hidden_size", 4096, 1, kMaxWidth));
  m.vocab_size = static_cast<int>(size("vocab_size", 32000, 1, kMaxVocab));
  m.eps = CheckedEps(JsonDouble(json, "rms_norm_eps", 1e-6, file), "rms_norm_eps", file);
  m.tied_head = JsonBool(json, "tie_word_embeddings", false, file);
  m.embedding_factor = ReadFactor(json, "embedding_multiplier", 1.0f, file);
  m.residual_factor = ReadFactor(json, "residual_multiplier", 1.0f, file);
  m.head_factor = 1.0f / ReadFactor(json, "logits_scaling", 1.0f, file);
  m.kinds = ReadGraniteKinds(json, file);
  m.mixer = ReadMambaKeys(json, m.d_model, /*inner_size=*/0, file);
  if (m.has(LayerKind::kAttention)) {
    m.attention = ReadAttentionKeys(json, m.d_model, /*default_head_dim=*/0, /*default_kv_heads=*/0, file);
    m.attention.scale = ReadFactor(json, "attention_multiplier", 1.0f, file);
    m.attention.bias = m.attention.out_bias = JsonBool(json, "attention_bias", false, file);
    if (JsonString(json, "position_embedding_type", "nope", file) == "rope")
      SetRope(ReadRopeTheta(json, 10000.0, file), m.attention.head_dim, file, m.attention);
  }
  m.mlp = MakeSharedMlp(m.d_model, static_cast<int>(size("shared_intermediate_size", 1024, 1, kMaxWidth)));
  const int64_t experts = size("num_local_experts", 8, 0, kMaxExperts);
  m.experts = MakeRouted(m.d_model, size("intermediate_size", 11008, 1, kMaxWidth), experts,
                         experts > 0 ? size("num_experts_per_tok", 2, 1, experts) : 0);
  return MakeGranite(m, Layout::kHuggingFace);
}

OrderedJson MakeGraniteJson(const ModelConfig& config) {
  OrderedJson json = BeginHybridJson(config, "rms_norm_eps");
  json["num_hidden_layers"] = config.num_layers();
  json["layer_types"] = LayerWords(config);
  AddMambaKeys(config, json);
  AddAttentionKeys(config, json);
  const bool rope = !config.attentions.empty() && config.attentions.front().rope_theta > 0.0;
  json["position_embedding_type"] = rope ? "rope" : "nope";
  if (!config.attentions.empty())
    json["attention_multiplier"] = ShortestDecimal(config.attentions.front().scale);
  json["embedding_multiplier"] = ShortestDecimal(config.embedding_factor);
  json["residual_multiplier"] = ShortestDecimal(config.mlps.front().down_factor);
  json["logits_scaling"] = ShortestDecimal(1.0f / config.head_factor);
  json["shared_intermediate_size"] = config.mlps.front().width;
  json["num_local_experts"] = 0;
  json["num_experts_per_tok"] = 0;
  json["intermediate_size"] = config.mlps.front().width;
  if (!config.experts.empty()) {
    const ExpertsDims& e = config.experts.front();
    json["num_local_experts"] = e.router.num_experts;
    json["num_experts_per_tok"] = e.router.num_chosen;
    json["intermediate_size"] = e.width;
  }
  json.update(
      OrderedJson{{"hidden_act", "silu"}, {"bos_token_id", 0}, {"eos_token_id", 0}, {"pad_token_id", 0}});
  return json;
}

std::vector<std::string_view> GraniteStateSizePath(const ModelConfig&, const std::string&,
                                                   const std::string&) {
  return {"mamba_d_state"};
}

// --- GGUF ---

constexpr std::string_view kGranitehybrid = "granitehybrid";
constexpr std::string_view kGraniteArchitectures[] = {kGranitehybrid};

ModelConfig ParseGraniteGguf(const GgufFile& file) {
  return MakeGranite(ReadGranitehybrid(file), Layout::kGguf);
}

}  // namespace

HybridModel ReadGranitehybrid(const GgufFile& file) {
  const std::string arch(kGranitehybrid);
  const auto key = [&](const char* name) { return arch + "." + name; };
  HybridModel m = ReadGgufHybrid(file, arch);
  m.embedding_factor = GgufFactor(file, key("embedding_scale"), 1.0f);
  m.residual_factor = GgufFactor(file, key("residual_scale"), 1.0f);
  m.head_factor = 1.0f / GgufFactor(file, key("logit_scale"), 1.0f);
  if (m.has(LayerKind::kAttention)) {
    m.attention.scale = GgufFactor(file, key("attention.scale"), m.attention.scale);
    if (GgufBool(file, key("rope.scaling.finetuned"), true)) ReadGgufRope(file, arch, m.attention);
  }
  const std::vector<int64_t> widths = GgufPerLayer(file, key("feed_forward_length"), m.kinds.size());
  const int64_t width = std::max<int64_t>(1, *std::ranges::max_element(widths));
  const bool routed = GgufUint(file, key("expert_count"), 0) > 0;
  const int64_t experts = routed ? GgufSize(file, key("expert_count"), kMaxExperts) : 0;
  const int64_t shared = routed ? GgufSize(file, key("expert_shared_feed_forward_length"), kMaxWidth) : width;
  m.mlp = MakeSharedMlp(m.d_model, static_cast<int>(shared));
  m.mlp.bias = GgufLayerHas(file, m, LayerKind::kMamba, "ffn_up.bias");
  m.experts =
      MakeRouted(m.d_model, width, experts, routed ? GgufSize(file, key("expert_used_count"), experts) : 0);
  return m;
}

GgufKeys MakeGraniteGgufKeys(const ModelConfig& config) {
  const std::string arch(kGranitehybrid);
  GgufKeys keys = MakeGgufHybridKeys(config, arch, /*kv_per_layer=*/true);
  const auto factor = [&](const char* key, float value) { keys.emplace_back(arch + "." + key, value); };
  const auto size = [&](const char* key, int64_t value) { AddGgufSize(arch, key, value, keys); };
  const AttentionDims attention = config.attentions.empty() ? AttentionDims{} : config.attentions.front();
  factor("attention.scale", attention.scale);
  factor("embedding_scale", config.embedding_factor);
  factor("residual_scale", config.mlps.front().down_factor);
  factor("logit_scale", 1.0f / config.head_factor);
  keys.emplace_back(arch + ".rope.scaling.finetuned", attention.rope_theta > 0.0);
  size("rope.dimension_count", attention.rope_theta > 0.0 ? attention.rotated : attention.head_dim);
  factor("rope.freq_base", attention.rope_theta > 0.0 ? static_cast<float>(attention.rope_theta) : 10000.0f);
  if (config.experts.empty()) {
    size("feed_forward_length", config.mlps.front().width);
    return keys;
  }
  const ExpertsDims& e = config.experts.front();
  size("feed_forward_length", e.width);
  size("expert_shared_feed_forward_length", config.mlps.front().width);
  size("expert_count", e.router.num_experts);
  size("expert_used_count", e.router.num_chosen);
  return keys;
}

std::string WhyNoGranitehybrid(const ModelConfig& config) {
  for (const MixerDims& d : config.mixers) {
    if (d.d_inner() != 2 * d.d_model) return "an inner width other than twice the model's";
  }
  return WhyNoGgufHybrid(config);
}

std::string_view GranitehybridArchitecture(const ModelConfig&) { return kGranitehybrid; }

namespace {

constexpr GgufForm kGraniteGguf = {.architectures = kGraniteArchitectures,
                                   .recognize = nullptr,
                                   .parse = ParseGraniteGguf,
                                   .architecture = GranitehybridArchitecture,
                                   .make_keys = MakeGraniteGgufKeys,
                                   .why_not = WhyNoGranitehybrid};

// --- released models ---

// All have N = 128, one group, a convolution of width 4, expand 2, embeddings times 12, a residual factor of
// 0.22, a scale of 1 / head width, tied embeddings and 100352 tokens.
struct GraniteShape {
  std::string_view name;
  int d_model, layers, heads, head_dim, attention_heads, kv_heads, shared_width;
  float logits_scaling;
  int experts, chosen, expert_width;
  std::vector<int> attention_layers;
};

const std::vector<GraniteShape>& GraniteShapes() {
  const std::vector<int> every_ten = {5, 15, 25, 35};
  static const std::vector<GraniteShape> shapes = {
      {"granite-4.0-h-350m", 768, 32, 48, 32, 12, 4, 2048, 3.0f, 0, 0, 0, {10, 13, 17, 27}},
      {"granite-4.0-h-1b", 1536, 40, 48, 64, 12, 4, 4096, 6.0f, 0, 0, 0, every_ten},
      {"granite-4.0-h-micro", 2048, 40, 64, 64, 32, 8, 8192, 8.0f, 0, 0, 0, every_ten},
      {"granite-4.0-h-tiny", 1536, 40, 48, 64, 12, 4, 1024, 6.0f, 64, 6, 512, every_ten},
      {"granite-4.0-h-small", 4096, 40, 128, 64, 32, 8, 1536, 16.0f, 72, 10, 768, every_ten},
  };
  return shapes;
}

ModelConfig MakeReleasedGranite(std::string_view name) {
  const GraniteShape& r = *std::ranges::find(GraniteShapes(), name, &GraniteShape::name);
  HybridModel m;
  m.d_model = r.d_model;
  m.vocab_size = 100352;
  m.tied_head = true;
  m.embedding_factor = 12.0f;
  m.residual_factor = 0.22f;
  m.head_factor = 1.0f / r.logits_scaling;
  m.kinds.assign(static_cast<size_t>(r.layers), LayerKind::kMamba);
  for (const int layer : r.attention_layers) m.kinds[static_cast<size_t>(layer)] = LayerKind::kAttention;
  m.mixer = ReleasedMixer(r.d_model, r.heads, r.head_dim, /*groups=*/1, /*state_dim=*/128);
  m.attention =
      MakeAttentionDims({r.d_model, r.attention_heads, r.kv_heads, r.d_model / r.attention_heads, ""});
  m.attention.scale = 1.0f / static_cast<float>(m.attention.head_dim);
  m.mlp = MakeSharedMlp(r.d_model, r.shared_width);
  m.experts = MakeRouted(r.d_model, r.expert_width, r.experts, r.chosen);
  return MakeGranite(m, Layout::kHuggingFace);
}

std::vector<ReleasedModel> ReleasedGranite() {
  std::vector<ReleasedModel> models;
  for (const GraniteShape& r : GraniteShapes()) models.push_back({std::string(r.name), MakeReleasedGranite});
  return models;
}

}  // namespace

constinit const Family kGraniteFamily = {.name = "granitemoehybrid",
                                         .title = "Granite 4 H",
                                         .transformers_class = "GraniteMoeHybridForCausalLM",
                                         .parse = ParseGranite,
                                         .recognize = nullptr,
                                         .arrange = ArrangeGranite,
                                         .fit = nullptr,
                                         .make_config = MakeGraniteJson,
                                         .state_size_path = GraniteStateSizePath,
                                         .gguf = &kGraniteGguf,
                                         .trainable = false,
                                         .released = ReleasedGranite};

}  // namespace ghost
