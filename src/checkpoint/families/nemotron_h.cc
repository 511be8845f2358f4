// Nemotron-H: every layer is one step with one of a mixer, attention without positions, an MLP with a squared
// rectifier, or experts beside such an MLP. Experts may read and give a narrower (latent) projection.
#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/config_reader.h"
#include "checkpoint/families/config_json.h"
#include "checkpoint/families/hybrid_gguf.h"
#include "checkpoint/families/hybrid_model.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

void NameNemotronExperts(bool stacked, ExpertsDims& d) {
  d.stacked = stacked;
  d.router_name = {.name = "gate", .gguf = "ffn_gate_inp"};
  d.correction_name = {.name = "gate.e_score_correction_bias", .gguf = "exp_probs_b.bias"};
  d.up_name = {.name = "up_proj", .alias = stacked ? "experts.up_proj" : "", .gguf = "ffn_up_exps"};
  d.down_name = {.name = "down_proj", .alias = stacked ? "experts.down_proj" : "", .gguf = "ffn_down_exps"};
}

// In GGUF files one tensor holds a projection of all experts.
void ArrangeNemotronH(ModelConfig& config) {
  const bool gguf = config.layout == Layout::kGguf;
  config.embedding = {"backbone.embeddings.weight",
                      {"backbone.embedding.weight", "model.embeddings.weight", "model.embedding.weight"},
                      "token_embd.weight"};
  config.final_norm = {"backbone.norm_f.weight", {"model.norm_f.weight"}, "output_norm.weight"};
  config.head = {"lm_head.weight", {}, "output.weight"};
  if (gguf) {
    config.own_prefixes = {"token_embd.", "output"};  // not the blocks of another head behind the last layer
  } else {
    config.own_prefixes = {"backbone.", "model.", "lm_head."};
  }
  for (ExpertsDims& d : config.experts) NameNemotronExperts(gguf, d);
  for (int j = 0; j < config.num_layers(); ++j) {
    LayerSpec& layer = config.layers[static_cast<size_t>(j)];
    const PartNames block{fmt::format("backbone.layers.{}.", j),
                          {fmt::format("model.layers.{}.", j)},
                          fmt::format("blk.{}.", j)};
    if (gguf) config.own_prefixes.push_back(block.gguf_prefix);
    const bool experts = LayerHas(layer, PartKind::kExperts);
    layer.steps[0].norm = block.Of("norm.weight", "attn_norm.weight");
    NameParts(layer, block,
              {.mixer = "mixer.",
               .attention = "mixer.",
               .mlp = experts ? "mixer.shared_experts." : "mixer.",
               .experts = "mixer."},
              config);
    for (const PartRef ref : layer.steps[0].parts) {
      if (ref.kind != PartKind::kMlp) continue;
      MlpDims& d = config.mlps[static_cast<size_t>(ref.index)];
      d.up_name = {.name = "up_proj", .gguf = experts ? "ffn_up_shexp" : "ffn_up"};
      d.down_name = {.name = "down_proj", .gguf = experts ? "ffn_down_shexp" : "ffn_down"};
    }
  }
}

// Some files hold the experts of a layer in one tensor.
void FitNemotronExperts(const TensorSet& tensors, ModelConfig& config) {
  for (ExpertsDims& d : config.experts) {
    const auto stored = [&](const std::string& prefix) {
      return tensors.tensors.contains(prefix + "experts.up_proj");
    };
    if (stored(d.names.prefix) || std::ranges::any_of(d.names.alias_prefixes, stored))
      NameNemotronExperts(/*stacked=*/true, d);
  }
}

// `shared_width` is that of the MLP beside experts.
ModelConfig MakeNemotronH(const HybridModel& model, int shared_width, Layout layout) {
  ModelConfig config = BeginModel(model, kNemotronHFamily.name, layout);
  MlpDims shared = model.mlp;
  shared.width = shared_width;
  for (const LayerKind kind : model.kinds) {
    std::vector<PartRef> parts;
    switch (kind) {
      case LayerKind::kMamba:
        parts = {AddMixer(model, config)};
        break;
      case LayerKind::kAttention:
        parts = {AddPart(model.attention, config)};
        break;
      case LayerKind::kMlp:
        parts = {AddPart(model.mlp, config)};
        break;
      case LayerKind::kExperts:
        parts = {AddPart(model.experts, config), AddPart(shared, config)};
        break;
    }
    config.layers.push_back({{MakeStep(model, std::move(parts))}});
  }
  ArrangeNemotronH(config);
  return config;
}

std::vector<LayerKind> KindsOfPattern(std::string_view pattern, const std::string& key,
                                      const std::string& file) {
  std::vector<LayerKind> kinds;
  for (const char letter : pattern) {
    switch (letter) {
      case 'M':
        kinds.push_back(LayerKind::kMamba);
        break;
      case '*':
        kinds.push_back(LayerKind::kAttention);
        break;
      case '-':
        kinds.push_back(LayerKind::kMlp);
        break;
      case 'E':
        kinds.push_back(LayerKind::kExperts);
        break;
      default:
        ThrowUnsupportedConfig(file, key, "letters M, *, - and E", std::string(1, letter));
    }
  }
  if (kinds.empty() || kinds.size() > static_cast<size_t>(kMaxLayers))
    ThrowInconsistentConfig(file, key, fmt::format("1 to {} layers", kMaxLayers),
                            std::to_string(kinds.size()));
  return kinds;
}

// The list wins; its length is the number of layers.
std::vector<LayerKind> ReadNemotronKinds(const Json& json, const std::string& file) {
  const std::string list = SpellingIn(json, {"layers_block_type", "layer_types"});
  if (const auto it = json.find(list); it != json.end() && !it->is_null())
    return ReadLayerKinds(*it, list, file);
  const std::string key = "hybrid_override_pattern";
  return KindsOfPattern(JsonString(json, key, "", file), key, file);
}

MlpDims MakeRectifiedMlp(int d_model, int width, bool bias) {
  return {.d_model = d_model,
          .width = width,
          .activation = Activation::kSquaredRelu,
          .joined = false,
          .bias = bias};
}

ExpertsDims MakeNemotronExperts(int d_model, int width, int latent, const RouterDims& router) {
  ExpertsDims d;
  d.d_model = d_model;
  d.width = width;
  d.latent = latent;
  d.router = router;
  d.activation = Activation::kSquaredRelu;
  d.joined = false;
  return d;
}

void CheckRouterGroups(const RouterDims& r, const std::string& file) {
  const int size = r.num_experts / r.num_groups;
  const bool whole = r.num_experts % r.num_groups == 0 && r.num_chosen <= r.num_chosen_groups * size;
  if (whole && (r.num_groups == 1 || size >= 2)) return;
  ThrowInconsistentConfig(file, "router groups",
                          "equal groups of at least two experts that hold all chosen ones",
                          fmt::format("{} experts in {} groups, {} of {} groups chosen", r.num_experts,
                                      r.num_groups, r.num_chosen, r.num_chosen_groups));
}

RouterDims ReadRouter(const Json& json, const std::string& file) {
  const auto size = [&](const char* key, int64_t fallback, int64_t max) {
    return static_cast<int>(JsonInt(json, key, fallback, 1, max, file));
  };
  RouterDims r;
  r.form = RouterForm::kSigmoid;
  r.correction = true;
  r.num_experts = size("n_routed_experts", 8, kMaxExperts);
  r.num_chosen = size("num_experts_per_tok", 2, r.num_experts);
  r.num_groups = size("n_group", 1, r.num_experts);
  r.num_chosen_groups = size("topk_group", 1, r.num_groups);
  r.normalize = JsonBool(json, "norm_topk_prob", true, file);
  r.scaling = ReadFactor(json, "routed_scaling_factor", 1.0f, file);
  CheckRouterGroups(r, file);
  return r;
}

// A slot per expert is made before any tensor is seen.
void CheckExpertCount(const HybridModel& m, const std::string& file) {
  const int64_t all = std::ranges::count(m.kinds, LayerKind::kExperts) * m.experts.router.num_experts;
  if (all <= kMaxAllExperts) return;
  ThrowUnsupportedConfig(file, "n_routed_experts",
                         fmt::format("at most {} experts in all layers", kMaxAllExperts),
                         std::to_string(all));
}

// Widths come from heads alone; `expand` is not used by the models either.
MixerDims ReadNemotronMixer(const Json& json, int64_t d_model, const std::string& file) {
  const auto read = [&](std::initializer_list<const char*> keys, int64_t fallback, int64_t max) {
    return JsonInt(json, SpellingIn(json, keys), fallback, 1, max, file);
  };
  MixerSizes s;
  s.file = file;
  s.inner_key = "mamba_num_heads * mamba_head_dim";
  s.d_model = d_model;
  s.heads = read({"mamba_num_heads"}, 128, kMaxWidth);
  s.head_dim = read({"mamba_head_dim"}, 64, kMaxWidth);
  s.inner_size = s.heads * s.head_dim;
  s.groups = read({"n_groups", "mamba_n_groups"}, 8, kMaxWidth);
  s.state_dim = read({"ssm_state_size"}, 128, kMaxState);
  s.conv_width = read({"conv_kernel", "mamba_d_conv"}, 4, 64);
  MixerDims dims = MakeMixerDims(s);
  dims.in_bias = dims.out_bias = JsonBool(json, "use_bias", false, file);
  dims.conv_bias = JsonBool(json, SpellingIn(json, {"use_conv_bias", "mamba_conv_bias"}), true, file);
  ReadTimeStepLimit(json, SpellingIn(json, {"time_step_limit", "mamba_dt_limit"}), file, dims);
  return dims;
}

ModelConfig ParseNemotronH(const Json& json, const std::string& file) {
  RefuseHybridOptions(json, file);
  RequireWord(json, "mlp_hidden_act", "relu2", file);
  RequireWord(json, "mamba_hidden_act", "silu", file);
  const auto size = [&](const char* key, int64_t fallback, int64_t max) {
    return static_cast<int>(JsonInt(json, key, fallback, 1, max, file));
  };
  HybridModel m;
  m.d_model = size("hidden_size", 4096, kMaxWidth);
  m.vocab_size = size("vocab_size", 131072, kMaxVocab);
  m.eps = CheckedEps(JsonDouble(json, "layer_norm_epsilon", 1e-5, file), "layer_norm_epsilon", file);
  m.kinds = ReadNemotronKinds(json, file);
  m.mixer = ReadNemotronMixer(json, m.d_model, file);
  if (m.has(LayerKind::kAttention)) {
    m.attention = ReadAttentionKeys(json, m.d_model, /*default_head_dim=*/128, /*default_kv_heads=*/8, file);
  }
  const bool bias = JsonBool(json, "mlp_bias", false, file);
  m.mlp = MakeRectifiedMlp(m.d_model, size("intermediate_size", 21504, kMaxWidth), bias);
  if (!m.has(LayerKind::kExperts)) return MakeNemotronH(m, /*shared_width=*/0, Layout::kHuggingFace);
  if (const int64_t shared = JsonInt(json, "n_shared_experts", 1, 0, kMaxExperts, file); shared != 1)
    ThrowUnsupportedConfig(file, "n_shared_experts", "1", std::to_string(shared));
  const auto latent = static_cast<int>(JsonInt(json, "moe_latent_size", 0, 0, kMaxWidth, file));
  m.experts = MakeNemotronExperts(m.d_model, size("moe_intermediate_size", 7688, kMaxWidth), latent,
                                  ReadRouter(json, file));
  m.experts.latent_bias = bias;
  CheckExpertCount(m, file);
  return MakeNemotronH(m, size("moe_shared_expert_intermediate_size", 7688, kMaxWidth), Layout::kHuggingFace);
}

std::string PatternOf(const ModelConfig& config) {
  std::string pattern;
  for (const LayerSpec& layer : config.layers) {
    pattern += LayerHas(layer, PartKind::kMixer)       ? 'M'
               : LayerHas(layer, PartKind::kAttention) ? '*'
               : LayerHas(layer, PartKind::kExperts)   ? 'E'
                                                       : '-';
  }
  return pattern;
}

// The MLPs of a kind of layer: those beside experts, or the others. Null: there are none.
const MlpDims* FindMlp(const ModelConfig& config, bool beside_experts) {
  for (const LayerSpec& layer : config.layers) {
    if (LayerHas(layer, PartKind::kExperts) != beside_experts) continue;
    for (const PartRef ref : layer.steps[0].parts) {
      if (ref.kind == PartKind::kMlp) return &config.mlps[static_cast<size_t>(ref.index)];
    }
  }
  return nullptr;
}

OrderedJson MakeNemotronHJson(const ModelConfig& config) {
  OrderedJson json = BeginHybridJson(config, "layer_norm_epsilon");
  json["hybrid_override_pattern"] = PatternOf(config);
  json["num_hidden_layers"] = config.num_layers();
  const MixerDims& d = config.mixers.front();
  json.update(OrderedJson{{"ssm_state_size", LargestStateSize(config)},
                          {"n_groups", d.num_groups()},
                          {"mamba_num_heads", d.num_heads},
                          {"mamba_head_dim", d.head_dim},
                          {"conv_kernel", d.conv_width},
                          {"use_conv_bias", d.conv_bias},
                          {"use_bias", d.in_bias}});
  AddAttentionKeys(config, json);
  if (!config.attentions.empty()) json["head_dim"] = config.attentions.front().head_dim;
  const MlpDims* mlp = FindMlp(config, /*beside_experts=*/false);
  const MlpDims* shared = FindMlp(config, /*beside_experts=*/true);
  if (mlp) json["intermediate_size"] = mlp->width;
  if (mlp || shared) json["mlp_bias"] = (mlp ? mlp : shared)->bias;
  if (shared) {
    const ExpertsDims& e = config.experts.front();
    json.update(OrderedJson{{"n_routed_experts", e.router.num_experts},
                            {"num_experts_per_tok", e.router.num_chosen},
                            {"n_shared_experts", 1},
                            {"moe_intermediate_size", e.width},
                            {"moe_shared_expert_intermediate_size", shared->width},
                            {"n_group", e.router.num_groups},
                            {"topk_group", e.router.num_chosen_groups},
                            {"norm_topk_prob", e.router.normalize},
                            {"routed_scaling_factor", ShortestDecimal(e.router.scaling)}});
    if (e.latent > 0) json["moe_latent_size"] = e.latent;
  }
  json.update(OrderedJson{{"mlp_hidden_act", "relu2"},
                          {"mamba_hidden_act", "silu"},
                          {"bos_token_id", 1},
                          {"eos_token_id", 2},
                          {"pad_token_id", 0}});
  return json;
}

std::vector<std::string_view> NemotronHStateSizePath(const ModelConfig&, const std::string&,
                                                     const std::string&) {
  return {"ssm_state_size"};
}

// --- GGUF ---

constexpr std::string_view kNemotronArchitectures[] = {"nemotron_h", "nemotron_h_moe"};

std::string_view NemotronArchitecture(const ModelConfig& config) {
  return kNemotronArchitectures[config.experts.empty() ? 0 : 1];
}

RouterDims ReadGgufRouter(const GgufFile& file, const std::string& arch) {
  RouterDims r;
  r.form = RouterForm::kSigmoid;
  r.correction = true;
  r.num_experts = static_cast<int>(GgufSize(file, arch + ".expert_count", kMaxExperts));
  r.num_chosen = static_cast<int>(GgufSize(file, arch + ".expert_used_count", r.num_experts));
  if (GgufUint(file, arch + ".expert_group_count", 0) > 1) {
    r.num_groups = static_cast<int>(GgufSize(file, arch + ".expert_group_count", r.num_experts));
    r.num_chosen_groups = static_cast<int>(GgufSize(file, arch + ".expert_group_used_count", r.num_groups));
  }
  r.normalize = GgufBool(file, arch + ".expert_weights_norm", false);
  r.scaling = GgufFactor(file, arch + ".expert_weights_scale", 1.0f);
  CheckRouterGroups(r, file.path);
  return r;
}

ModelConfig ParseNemotronGguf(const GgufFile& file) {
  const std::string arch = GgufString(file, "general.architecture");
  const auto key = [&](const char* name) { return arch + "." + name; };
  HybridModel m = ReadGgufHybrid(file, arch);
  const std::vector<int64_t> widths = GgufPerLayer(file, key("feed_forward_length"), m.kinds.size());
  const bool experts = GgufUint(file, key("expert_count"), 0) > 0;
  int64_t width = 0;
  for (size_t j = 0; j < widths.size(); ++j) {
    if (widths[j] == 0) continue;
    m.kinds[j] = experts ? LayerKind::kExperts : LayerKind::kMlp;
    if (width > 0 && widths[j] != width)
      ThrowUnsupportedConfig(file.path, key("feed_forward_length"), "one width", "several");
    width = widths[j];
  }
  // Layers of another head at the end (multi-token prediction), which the model does not need.
  const uint64_t extra = GgufUint(file, key("nextn_predict_layers"), 0);
  if (extra >= m.kinds.size())
    ThrowInconsistentConfig(file.path, key("nextn_predict_layers"), "fewer than all layers",
                            std::to_string(extra));
  m.kinds.resize(m.kinds.size() - static_cast<size_t>(extra));
  m.mlp = MakeRectifiedMlp(m.d_model, static_cast<int>(width),
                           GgufLayerHas(file, m, LayerKind::kMlp, "ffn_up.bias"));
  if (!experts) return MakeNemotronH(m, /*shared_width=*/0, Layout::kGguf);
  const auto latent = static_cast<int>(
      GgufUint(file, key("moe_latent_size"), 0) == 0 ? 0 : GgufSize(file, key("moe_latent_size"), kMaxWidth));
  m.experts = MakeNemotronExperts(
      m.d_model, static_cast<int>(GgufSize(file, key("expert_feed_forward_length"), kMaxWidth)), latent,
      ReadGgufRouter(file, arch));
  return MakeNemotronH(m,
                       static_cast<int>(GgufSize(file, key("expert_shared_feed_forward_length"), kMaxWidth)),
                       Layout::kGguf);
}

GgufKeys MakeNemotronKeys(const ModelConfig& config) {
  const std::string arch(NemotronArchitecture(config));
  GgufKeys keys = MakeGgufHybridKeys(config, arch, /*kv_per_layer=*/true);
  const auto size = [&](const char* key, int64_t value) { AddGgufSize(arch, key, value, keys); };
  keys.emplace_back(arch + ".attention.layer_norm_epsilon", config.norm_eps);
  keys.emplace_back(arch + ".rope.scaling.finetuned", false);
  const MlpDims* mlp = FindMlp(config, /*beside_experts=*/false);
  const MlpDims* shared = FindMlp(config, /*beside_experts=*/true);
  std::vector<uint32_t> widths;
  for (const LayerSpec& layer : config.layers) {
    const bool experts = LayerHas(layer, PartKind::kExperts), plain = LayerHas(layer, PartKind::kMlp);
    widths.push_back(static_cast<uint32_t>(experts ? config.experts.front().width : plain ? mlp->width : 0));
  }
  keys.emplace_back(arch + ".feed_forward_length", widths);
  if (!shared) return keys;
  const ExpertsDims& e = config.experts.front();
  size("expert_count", e.router.num_experts);
  size("expert_used_count", e.router.num_chosen);
  size("expert_feed_forward_length", e.width);
  size("expert_shared_feed_forward_length", shared->width);
  size("expert_shared_count", 1);
  keys.emplace_back(arch + ".expert_weights_norm", e.router.normalize);
  keys.emplace_back(arch + ".expert_weights_scale", e.router.scaling);
  size("expert_group_count", e.router.num_groups);
  if (e.router.num_groups > 1) size("expert_group_used_count", e.router.num_chosen_groups);
  if (e.latent > 0) size("moe_latent_size", e.latent);
  return keys;
}

std::string WhyNoNemotronGguf(const ModelConfig& config) {
  const MlpDims* shared = FindMlp(config, /*beside_experts=*/true);
  if (shared && FindMlp(config, /*beside_experts=*/false)) return "MLP layers beside expert layers";
  if (shared && shared->bias) return "biases of experts' projections";
  return WhyNoGgufHybrid(config);
}

constexpr GgufForm kNemotronGguf = {.architectures = kNemotronArchitectures,
                                    .recognize = nullptr,
                                    .parse = ParseNemotronGguf,
                                    .architecture = NemotronArchitecture,
                                    .make_keys = MakeNemotronKeys,
                                    .why_not = WhyNoNemotronGguf};

// --- released models ---

// All have N = 128, 8 groups, heads of 128 channels in attention and 131072 tokens.
struct NemotronShape {
  std::string_view name;
  int d_model, heads, head_dim, attention_heads, kv_heads, mlp_width;
  int experts, chosen, expert_width, shared_width;  // with a scaling of 2.5
  std::string_view pattern;
};
constexpr NemotronShape kReleasedNemotronH[] = {
    {"nemotron-h-8b", 4096, 128, 64, 32, 8, 21504, 0, 0, 0, 0,
     "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"},
    {"nemotron-nano-9b-v2", 4480, 128, 80, 40, 8, 15680, 0, 0, 0, 0,
     "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"},
    {"nemotron-nano-12b-v2", 5120, 128, 80, 40, 8, 20480, 0, 0, 0, 0,
     "M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M-"},
    {"nemotron-3-nano-30b-a3b", 2688, 64, 64, 32, 2, 0, 128, 6, 1856, 3712,
     "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"},
};

ModelConfig MakeReleasedNemotronH(std::string_view name) {
  const NemotronShape& r = *std::ranges::find(kReleasedNemotronH, name, &NemotronShape::name);
  HybridModel m;
  m.d_model = r.d_model;
  m.vocab_size = 131072;
  m.kinds = KindsOfPattern(r.pattern, "pattern", "");
  m.mixer = ReleasedMixer(r.d_model, r.heads, r.head_dim, /*groups=*/8, /*state_dim=*/128);
  m.attention = MakeAttentionDims({.d_model = r.d_model,
                                   .heads = r.attention_heads,
                                   .kv_heads = r.kv_heads,
                                   .head_dim = 128,
                                   .file = ""});
  m.mlp = MakeRectifiedMlp(r.d_model, r.mlp_width, /*bias=*/false);
  if (r.experts > 0) {
    const RouterDims router{.num_experts = r.experts,
                            .num_chosen = r.chosen,
                            .form = RouterForm::kSigmoid,
                            .correction = true,
                            .scaling = 2.5f};
    m.experts = MakeNemotronExperts(r.d_model, r.expert_width, /*latent=*/0, router);
  }
  return MakeNemotronH(m, r.shared_width, Layout::kHuggingFace);
}

std::vector<ReleasedModel> ReleasedNemotronH() {
  std::vector<ReleasedModel> models;
  for (const NemotronShape& r : kReleasedNemotronH)
    models.push_back({std::string(r.name), MakeReleasedNemotronH});
  return models;
}

}  // namespace

constinit const Family kNemotronHFamily = {.name = "nemotron_h",
                                           .title = "Nemotron-H",
                                           .transformers_class = "NemotronHForCausalLM",
                                           .parse = ParseNemotronH,
                                           .recognize = nullptr,
                                           .arrange = ArrangeNemotronH,
                                           .fit = FitNemotronExperts,
                                           .make_config = MakeNemotronHJson,
                                           .state_size_path = NemotronHStateSizePath,
                                           .gguf = &kNemotronGguf,
                                           .trainable = false,
                                           .released = ReleasedNemotronH};

}  // namespace ghost
