// Falcon-H1: a mixer and attention side by side on one normed input, then a gated MLP. Fixed factors multiply
// almost every activation; GGUF files have them inside the weights.
#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/config_reader.h"
#include "checkpoint/families/config_json.h"
#include "checkpoint/families/hybrid_gguf.h"
#include "checkpoint/families/hybrid_model.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

void ClearFactors(ModelConfig& config) {
  // One tensor cannot hold two factors.
  if (config.embedding_factor != config.head_factor) config.tied_head = false;
  config.embedding_factor = config.head_factor = 1.0f;
  for (MixerDims& d : config.mixers) d.factors = {};
  for (AttentionDims& d : config.attentions) d.in_factor = d.key_factor = d.out_factor = 1.0f;
  for (MlpDims& d : config.mlps) d.gate_factor = d.down_factor = 1.0f;
}

void ArrangeFalconH1(ModelConfig& config) {
  const bool gguf = config.layout == Layout::kGguf;
  if (gguf) ClearFactors(config);
  config.embedding = {"model.embed_tokens.weight", {}, "token_embd.weight"};
  config.final_norm = {"model.final_layernorm.weight", {}, "output_norm.weight"};
  config.head = {"lm_head.weight", {}, "output.weight"};
  config.own_prefixes = gguf ? std::vector<std::string>{} : std::vector<std::string>{"model.", "lm_head."};
  for (MlpDims& d : config.mlps) d.up_name = {.name = "up_proj", .gguf = "ffn_up"};
  for (int j = 0; j < config.num_layers(); ++j) {
    LayerSpec& layer = config.layers[static_cast<size_t>(j)];
    const PartNames block{fmt::format("model.layers.{}.", j), {}, fmt::format("blk.{}.", j)};
    layer.steps[0].norm = block.Of("input_layernorm.weight", "attn_norm.weight");
    layer.steps[1].norm = block.Of("pre_ff_layernorm.weight", "ffn_norm");  // without a suffix there
    NameParts(layer, block,
              {.mixer = "mamba.", .attention = "self_attn.", .mlp = "feed_forward.", .experts = ""}, config);
  }
}

// The model's layers all have the same parts, so `kinds` only counts them.
ModelConfig MakeFalconH1(const HybridModel& model, Layout layout) {
  ModelConfig config = BeginModel(model, kFalconH1Family.name, layout);
  for (size_t j = 0; j < model.kinds.size(); ++j) {
    const PartRef mixer = AddMixer(model, config), attention = AddPart(model.attention, config);
    config.layers.push_back(
        {{MakeStep(model, {mixer, attention}), MakeStep(model, {AddPart(model.mlp, config)})}});
  }
  ArrangeFalconH1(config);
  return config;
}

void ReadFalconFactors(const Json& json, const std::string& file, HybridModel& m) {
  m.embedding_factor = ReadFactor(json, "embedding_multiplier", 1.0f, file);
  m.head_factor = ReadFactor(json, "lm_head_multiplier", 1.0f, file);
  MixerFactors& f = m.mixer.factors;
  f.input = ReadFactor(json, "ssm_in_multiplier", 1.0f, file);
  f.output = ReadFactor(json, "ssm_out_multiplier", 1.0f, file);
  ReadFactors(json, "ssm_multipliers", file, {&f.z, &f.x, &f.b, &f.c, &f.dt});
  m.attention.in_factor = ReadFactor(json, "attention_in_multiplier", 1.0f, file);
  m.attention.key_factor = ReadFactor(json, "key_multiplier", 1.0f, file);
  m.attention.out_factor = ReadFactor(json, "attention_out_multiplier", 1.0f, file);
  ReadFactors(json, "mlp_multipliers", file, {&m.mlp.gate_factor, &m.mlp.down_factor});
}

GateForm ReadGateForm(const Json& json, const std::string& file) {
  if (!JsonBool(json, "mamba_rms_norm", false, file)) return GateForm::kGateOnly;
  return JsonBool(json, "mamba_norm_before_gate", true, file) ? GateForm::kNormThenGate
                                                              : GateForm::kGateThenNorm;
}

// The library's own default of the rotary base changed between versions, so a file must say it.
double RequiredRopeTheta(const Json& json, const std::string& file) {
  const auto nested = json.find("rope_parameters");
  const bool inside = nested != json.end() && nested->is_object() && nested->contains("rope_theta");
  if (!inside && !json.contains("rope_theta"))
    ThrowInconsistentConfig(file, "rope_theta", "the base of the rotary angles", "no such key");
  return ReadRopeTheta(json, 0.0, file);
}

MlpDims MakeFalconMlp(int d_model, int width) {
  return {.d_model = d_model, .width = width, .activation = Activation::kSilu, .joined = false};
}

ModelConfig ParseFalconH1(const Json& json, const std::string& file) {
  RefuseHybridOptions(json, file);
  RequireWord(json, "hidden_act", "silu", file);
  const auto size = [&](const char* key, int64_t fallback, int64_t max) {
    return static_cast<int>(JsonInt(json, key, fallback, 1, max, file));
  };
  HybridModel m;
  m.d_model = size("hidden_size", 4096, kMaxWidth);
  m.vocab_size = size("vocab_size", 128000, kMaxVocab);
  m.eps = CheckedEps(JsonDouble(json, "rms_norm_eps", 1e-5, file), "rms_norm_eps", file);
  m.tied_head = JsonBool(json, "tie_word_embeddings", false, file);
  m.kinds.assign(static_cast<size_t>(size("num_hidden_layers", 32, kMaxLayers)), LayerKind::kMamba);
  const auto inner = json.find("mamba_d_ssm");
  const bool derived = inner != json.end() && inner->is_null();
  m.mixer = ReadMambaKeys(json, m.d_model, derived ? 0 : size("mamba_d_ssm", 1024, kMaxWidth), file);
  m.mixer.out_bias = JsonBool(json, "projectors_bias", false, file);
  m.mixer.gate_form = ReadGateForm(json, file);
  m.attention = ReadAttentionKeys(json, m.d_model, /*default_head_dim=*/0, /*default_kv_heads=*/8, file);
  m.attention.bias = m.attention.out_bias = JsonBool(json, "attention_bias", false, file);
  SetRope(RequiredRopeTheta(json, file), m.attention.head_dim, file, m.attention);
  m.mlp = MakeFalconMlp(m.d_model, size("intermediate_size", 14336, kMaxWidth));
  m.mlp.bias = JsonBool(json, "mlp_bias", false, file);
  ReadFalconFactors(json, file, m);
  return MakeFalconH1(m, Layout::kHuggingFace);
}

OrderedJson MakeFalconH1Json(const ModelConfig& config) {
  OrderedJson json = BeginHybridJson(config, "rms_norm_eps");
  json["num_hidden_layers"] = config.num_layers();
  const MixerDims& d = config.mixers.front();
  const AttentionDims& a = config.attentions.front();
  const MlpDims& mlp = config.mlps.front();
  json["mamba_d_ssm"] = d.d_inner();
  AddMambaKeys(config, json);
  AddAttentionKeys(config, json);
  const auto number = [](float factor) { return ShortestDecimal(factor); };
  const MixerFactors& f = d.factors;
  json.update(
      OrderedJson{{"head_dim", a.head_dim},
                  {"mamba_rms_norm", d.has_gate_norm()},
                  {"mamba_norm_before_gate", d.gate_form == GateForm::kNormThenGate},
                  {"projectors_bias", d.out_bias},
                  {"intermediate_size", mlp.width},
                  {"mlp_bias", mlp.bias},
                  {"embedding_multiplier", number(config.embedding_factor)},
                  {"lm_head_multiplier", number(config.head_factor)},
                  {"key_multiplier", number(a.key_factor)},
                  {"attention_in_multiplier", number(a.in_factor)},
                  {"attention_out_multiplier", number(a.out_factor)},
                  {"ssm_in_multiplier", number(f.input)},
                  {"ssm_out_multiplier", number(f.output)},
                  {"ssm_multipliers", {number(f.z), number(f.x), number(f.b), number(f.c), number(f.dt)}},
                  {"mlp_multipliers", {number(mlp.gate_factor), number(mlp.down_factor)}},
                  {"hidden_act", "silu"},
                  {"bos_token_id", 1},
                  {"eos_token_id", 11},
                  {"pad_token_id", 0}});
  return json;
}

std::vector<std::string_view> FalconH1StateSizePath(const ModelConfig&, const std::string&,
                                                    const std::string&) {
  return {"mamba_d_state"};
}

// --- GGUF ---

constexpr std::string_view kFalconArchitectures[] = {"falcon-h1"};

ModelConfig ParseFalconGguf(const GgufFile& file) {
  const std::string arch(kFalconArchitectures[0]);
  HybridModel m = ReadGgufHybrid(file, arch);
  if (!m.has(LayerKind::kAttention))
    ThrowInconsistentConfig(file.path, arch + ".attention.head_count_kv", "1 or more", "0");
  const auto has_tensor = [&](const char* name) { return file.tensors.tensors.contains(name); };
  m.mixer.gate_form = has_tensor("blk.0.ssm_norm.weight") ? GateForm::kGateThenNorm : GateForm::kGateOnly;
  ReadGgufRope(file, arch, m.attention);
  if (m.attention.rotated != m.attention.head_dim)
    ThrowUnsupportedConfig(file.path, arch + ".rope.dimension_count", "the width of a head",
                           std::to_string(m.attention.rotated));
  m.attention.out_bias = false;  // llama.cpp ignores it
  const std::vector<int64_t> widths = GgufPerLayer(file, arch + ".feed_forward_length", m.kinds.size());
  m.mlp = MakeFalconMlp(m.d_model, static_cast<int>(std::max<int64_t>(1, widths.front())));
  m.mlp.bias = has_tensor("blk.0.ffn_up.bias");
  return MakeFalconH1(m, Layout::kGguf);
}

GgufKeys MakeFalconKeys(const ModelConfig& config) {
  const std::string arch(kFalconArchitectures[0]);
  GgufKeys keys = MakeGgufHybridKeys(config, arch, /*kv_per_layer=*/false);
  AddGgufSize(arch, "feed_forward_length", config.mlps.front().width, keys);
  AddGgufSize(arch, "rope.dimension_count", config.attentions.front().rotated, keys);
  keys.emplace_back(arch + ".rope.freq_base", static_cast<float>(config.attentions.front().rope_theta));
  return keys;
}

std::string WhyNoFalconGguf(const ModelConfig& config) {
  for (const AttentionDims& d : config.attentions) {
    if (d.out_bias) return "a bias of attention's output, which llama.cpp loads and ignores";
  }
  return WhyNoGgufHybrid(config);
}

constexpr GgufForm kFalconGguf = {.architectures = kFalconArchitectures,
                                  .recognize = nullptr,
                                  .parse = ParseFalconGguf,
                                  .architecture = [](const ModelConfig&) { return kFalconArchitectures[0]; },
                                  .make_keys = MakeFalconKeys,
                                  .why_not = WhyNoFalconGguf};

// --- released models ---

// All have a rotary base of 1e11; only the largest has a gated norm. The factors are those of the 0.5B model.
struct FalconShape {
  std::string_view name;
  int d_model, layers, heads, head_dim, groups, state, attention_heads, kv_heads, attention_width, mlp_width;
  int vocab;
  GateForm gate;
};
constexpr FalconShape kReleasedFalconH1[] = {
    {"falcon-h1-0.5b", 1024, 36, 24, 64, 1, 128, 8, 2, 64, 2048, 32784, GateForm::kGateOnly},
    {"falcon-h1-1.5b", 2048, 24, 48, 64, 1, 256, 8, 2, 128, 4608, 65537, GateForm::kGateOnly},
    {"falcon-h1-3b", 2560, 32, 32, 128, 1, 256, 10, 2, 128, 6144, 65537, GateForm::kGateOnly},
    {"falcon-h1-7b", 3072, 44, 24, 128, 1, 256, 12, 2, 128, 12288, 130048, GateForm::kGateOnly},
    {"falcon-h1-34b", 5120, 72, 32, 128, 2, 256, 20, 4, 128, 21504, 261120, GateForm::kGateThenNorm},
};

ModelConfig MakeReleasedFalconH1(std::string_view name) {
  const FalconShape& r = *std::ranges::find(kReleasedFalconH1, name, &FalconShape::name);
  HybridModel m;
  m.d_model = r.d_model;
  m.vocab_size = r.vocab;
  m.kinds.assign(static_cast<size_t>(r.layers), LayerKind::kMamba);
  m.embedding_factor = 5.656854f;
  m.head_factor = 0.0390625f;
  m.mixer = ReleasedMixer(r.d_model, r.heads, r.head_dim, r.groups, r.state);
  m.mixer.gate_form = r.gate;
  m.mixer.factors = {.input = 1.25f,
                     .z = 0.35355338f,
                     .x = 0.25f,
                     .b = 0.35355338f,
                     .c = 0.5f,
                     .dt = 0.35355338f,
                     .output = 0.23570226f};
  m.attention = MakeAttentionDims({.d_model = r.d_model,
                                   .heads = r.attention_heads,
                                   .kv_heads = r.kv_heads,
                                   .head_dim = r.attention_width,
                                   .file = ""});
  SetRope(1e11, r.attention_width, "", m.attention);
  m.attention.key_factor = 0.390625f;
  m.attention.out_factor = 0.9375f;
  m.mlp = MakeFalconMlp(r.d_model, r.mlp_width);
  m.mlp.gate_factor = 0.8838835f;
  m.mlp.down_factor = 0.5859375f;
  return MakeFalconH1(m, Layout::kHuggingFace);
}

std::vector<ReleasedModel> ReleasedFalconH1() {
  std::vector<ReleasedModel> models;
  for (const FalconShape& r : kReleasedFalconH1)
    models.push_back({std::string(r.name), MakeReleasedFalconH1});
  return models;
}

}  // namespace

constinit const Family kFalconH1Family = {.name = "falcon_h1",
                                          .title = "Falcon-H1",
                                          .transformers_class = "FalconH1ForCausalLM",
                                          .parse = ParseFalconH1,
                                          .recognize = nullptr,
                                          .arrange = ArrangeFalconH1,
                                          .fit = nullptr,
                                          .make_config = MakeFalconH1Json,
                                          .state_size_path = FalconH1StateSizePath,
                                          .gguf = &kFalconGguf,
                                          .trainable = false,
                                          .released = ReleasedFalconH1};

}  // namespace ghost
