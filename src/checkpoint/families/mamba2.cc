#include "checkpoint/families/mamba2.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "checkpoint/config_reader.h"
#include "checkpoint/families/config_json.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

void ArrangeMamba2(ModelConfig& config) {
  const std::string outer = config.layout == Layout::kMistral ? "model." : "", backbone = outer + "backbone.";
  std::string plural = backbone + "embeddings.weight", singular = backbone + "embedding.weight";
  if (config.layout == Layout::kStateSpaces || config.layout == Layout::kMistral) std::swap(plural, singular);
  config.embedding = {plural, {singular}, "token_embd.weight"};
  config.final_norm = {backbone + "norm_f.weight", {}, "output_norm.weight"};
  config.head = {outer + "lm_head.weight", {}, "output.weight"};
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const std::string number = std::to_string(layer);
    const PartNames block{backbone + "layers." + number + ".", {}, "blk." + number + "."};
    StepSpec& step = config.layers[static_cast<size_t>(layer)].steps.front();
    step.norm = block.Of("norm.weight", "attn_norm.weight");
    config.mixers[static_cast<size_t>(step.parts.front().index)].names = block.Inside("mixer.");
  }
}

// What all layouts say, once their keys are read.
struct Mamba2Sizes {
  MixerDims mixer;
  int64_t layers = 0;
  float eps = 1e-5f;
};

ModelConfig MakeConfig(const Mamba2Sizes& sizes, Layout layout) {
  ModelConfig config;
  config.family = kMamba2Family.name;
  config.layout = layout;
  config.d_model = sizes.mixer.d_model;
  config.norm_eps = sizes.eps;
  MixerDims mixer = sizes.mixer;
  mixer.gate_eps = sizes.eps;
  AddMixerLayers(mixer, static_cast<int>(sizes.layers), sizes.eps, config);
  ArrangeMamba2(config);
  return config;
}

// Defaults are those of the library's config class; released files leave out what equals them.
ModelConfig ParseHuggingFace(const Json& json, const std::string& file) {
  const std::string activation = JsonString(json, "hidden_act", "silu", file);
  if (activation != "silu" && activation != "swish")
    ThrowUnsupportedConfig(file, "hidden_act", "silu", activation);
  MixerSizes s;
  s.file = file;
  s.inner_key = "hidden_size * expand";
  s.d_model = JsonInt(json, "hidden_size", 4096, 1, kMaxWidth, file);
  Mamba2Sizes sizes;
  sizes.layers = JsonInt(json, "num_hidden_layers", 64, 1, kMaxLayers, file);
  s.heads = JsonInt(json, "num_heads", 128, 1, kMaxWidth, file);
  s.head_dim = JsonInt(json, "head_dim", 64, 1, kMaxWidth, file);
  s.groups = JsonInt(json, "n_groups", 8, 1, kMaxWidth, file);
  s.state_dim = JsonInt(json, "state_size", 128, 1, kMaxState, file);
  s.conv_width = JsonInt(json, "conv_kernel", 4, 1, 64, file);
  s.inner_size = CheckedInnerSize(JsonDouble(json, "expand", 2.0, file), s.d_model, "expand", file);
  sizes.mixer = MakeMixerDims(s);
  sizes.eps = CheckedEps(JsonDouble(json, "layer_norm_epsilon", 1e-5, file), "layer_norm_epsilon", file);
  sizes.mixer.in_bias = sizes.mixer.out_bias = JsonBool(json, "use_bias", false, file);
  sizes.mixer.conv_bias = JsonBool(json, "use_conv_bias", true, file);
  ReadTimeStepLimit(json, "time_step_limit", file, sizes.mixer);
  ModelConfig config = MakeConfig(sizes, Layout::kHuggingFace);
  config.vocab_size = config.token_count =
      static_cast<int>(JsonInt(json, "vocab_size", 32768, 1, kMaxVocab, file));
  config.tied_head = JsonBool(json, "tie_word_embeddings", false, file);
  return config;
}

// What the original layout can say and we cannot run.
void CheckStateSpaces(const Json& json, const Json& ssm, const std::string& file) {
  const std::string layer = JsonString(ssm, "layer", "Mamba1", file);
  if (layer != "Mamba2")
    ThrowUnsupportedConfig(file, "ssm_cfg.layer", "Mamba2 (a missing key means Mamba1)", layer);
  const auto attention = json.find("attn_layer_idx");
  if (attention != json.end() && !attention->is_null() && !attention->empty())
    ThrowUnsupportedConfig(file, "attn_layer_idx", "no attention layers", attention->dump());
  if (JsonInt(json, "d_intermediate", 0, 0, kMaxWidth, file) != 0)
    ThrowUnsupportedConfig(file, "d_intermediate", "0 (no MLP)", json["d_intermediate"].dump());
  for (const char* key : {"D_has_hdim", "norm_before_gate"}) {
    if (JsonBool(ssm, key, false, file))
      ThrowUnsupportedConfig(file, std::string("ssm_cfg.") + key, "false", "true");
  }
  if (!JsonBool(ssm, "rmsnorm", true, file)) ThrowUnsupportedConfig(file, "ssm_cfg.rmsnorm", "true", "false");
  if (!JsonBool(json, "rms_norm", true, file)) ThrowUnsupportedConfig(file, "rms_norm", "true", "false");
}

// The original code rounds the rows of the embedding up.
void ReadPaddedVocabulary(const Json& json, const std::string& file, ModelConfig& config) {
  const int64_t vocab = JsonInt(json, "vocab_size", 50277, 1, kMaxVocab, file);
  const int64_t multiple = JsonInt(json, "pad_vocab_size_multiple", 8, 1, 65536, file);
  config.token_count = static_cast<int>(vocab);
  config.vocab_size = static_cast<int>((vocab + multiple - 1) / multiple * multiple);
  config.tied_head = JsonBool(json, "tie_embeddings", true, file);
}

ModelConfig ParseStateSpaces(const Json& json, const std::string& file) {
  const auto ssm_it = json.find("ssm_cfg");
  const Json ssm = ssm_it == json.end() || ssm_it->is_null() ? Json::object() : *ssm_it;
  if (!ssm.is_object()) ThrowInconsistentConfig(file, "ssm_cfg", "an object", ssm.dump());
  CheckStateSpaces(json, ssm, file);
  MixerSizes s;
  s.file = file;
  s.inner_key = "d_model * ssm_cfg.expand";
  s.d_model = RequiredInt(json, "d_model", kMaxWidth, file);
  Mamba2Sizes sizes;
  sizes.layers = RequiredInt(json, "n_layer", kMaxLayers, file);
  s.head_dim = JsonInt(ssm, "headdim", 64, 1, kMaxWidth, file);
  s.groups = JsonInt(ssm, "ngroups", 1, 1, kMaxWidth, file);
  s.state_dim = JsonInt(ssm, "d_state", 128, 1, kMaxState, file);
  s.conv_width = JsonInt(ssm, "d_conv", 4, 1, 64, file);
  s.inner_size = s.d_model * JsonInt(ssm, "expand", 2, 1, 64, file);
  s.heads = std::max<int64_t>(1, s.inner_size / s.head_dim);  // MakeMixerDims checks that it divides
  if (JsonInt(ssm, "d_ssm", s.inner_size, 1, kMaxWidth * 64, file) != s.inner_size)
    ThrowUnsupportedConfig(file, "ssm_cfg.d_ssm", std::to_string(s.inner_size), ssm["d_ssm"].dump());
  sizes.mixer = MakeMixerDims(s);
  sizes.mixer.in_bias = sizes.mixer.out_bias = JsonBool(ssm, "bias", false, file);
  sizes.mixer.conv_bias = JsonBool(ssm, "conv_bias", true, file);
  ReadTimeStepLimit(ssm, "dt_limit", file, sizes.mixer);
  ModelConfig config = MakeConfig(sizes, Layout::kStateSpaces);
  ReadPaddedVocabulary(json, file, config);
  return config;
}

// The params.json beside a consolidated.safetensors: Codestral as Mistral ships it. Numbers it does not have
// are those of the original code, by which Mistral's program makes the model; d_state is ours.
ModelConfig ParseMistral(const Json& json, const std::string& file) {
  MixerSizes s;
  s.file = file;
  s.inner_key = "dim";
  s.d_model = RequiredInt(json, "dim", kMaxWidth, file);
  Mamba2Sizes sizes;
  sizes.layers = RequiredInt(json, "n_layers", kMaxLayers, file);
  s.head_dim = 64;
  s.groups = RequiredInt(json, "n_groups", kMaxWidth, file);
  s.state_dim = JsonInt(json, "d_state", 128, 1, kMaxState, file);
  s.conv_width = 4;
  s.inner_size = 2 * s.d_model;
  s.heads = std::max<int64_t>(1, s.inner_size / s.head_dim);
  if (!JsonBool(json, "rms_norm", true, file)) ThrowUnsupportedConfig(file, "rms_norm", "true", "false");
  sizes.mixer = MakeMixerDims(s);
  ModelConfig config = MakeConfig(sizes, Layout::kMistral);
  ReadPaddedVocabulary(json, file, config);
  return config;
}

bool IsStateSpaces(const Json& json) { return json.contains("d_model") && json.contains("n_layer"); }
bool IsMistral(const Json& json) {
  return json.contains("dim") && json.contains("n_layers") && json.contains("n_groups");
}
bool IsOtherMamba2(const Json& json) {
  return IsMistral(json) || (IsStateSpaces(json) && !json.contains("model_type"));
}

ModelConfig ParseMamba2(const Json& json, const std::string& file) {
  if (IsMistral(json)) return ParseMistral(json, file);
  return JsonString(json, "model_type", "", file).empty() ? ParseStateSpaces(json, file)
                                                          : ParseHuggingFace(json, file);
}

OrderedJson MakeMamba2Json(const ModelConfig& config) {
  const MixerDims& d = config.mixers.front();  // all mixers of the family agree but for N
  OrderedJson json = {
      {"architectures", {kMamba2Family.transformers_class}},
      {"model_type", "mamba2"},
      {"hidden_size", config.d_model},
      {"num_hidden_layers", config.num_layers()},
      {"num_heads", d.num_heads},
      {"head_dim", d.head_dim},
      {"n_groups", d.num_groups()},
      {"state_size", LargestStateSize(config)},
      {"conv_kernel", d.conv_width},
      {"expand", ExpandOf(d)},
      {"vocab_size", config.vocab_size},
      {"layer_norm_epsilon", ShortestDecimal(config.norm_eps)},
      {"tie_word_embeddings", config.tied_head},
      {"use_bias", d.in_bias},
      {"use_conv_bias", d.conv_bias},
      {"residual_in_fp32", true},
      {"hidden_act", "silu"},
      {"bos_token_id", 0},
      {"eos_token_id", 0},
      {"pad_token_id", 0},
  };
  // No clamp is the default; written out, infinity has a spelling that only one line of the library reads.
  if (!std::isinf(d.dt_max)) json["time_step_limit"] = {ShortestDecimal(d.dt_min), ShortestDecimal(d.dt_max)};
  return json;
}

std::vector<std::string_view> Mamba2StateSizePath(const ModelConfig& config, const std::string&,
                                                  const std::string&) {
  if (config.layout == Layout::kStateSpaces) return {"ssm_cfg", "d_state"};
  if (config.layout == Layout::kMistral) return {"d_state"};
  return {"state_size"};
}

ModelConfig ParseMamba2Gguf(const GgufFile& file) {
  Mamba2Sizes sizes;
  sizes.mixer = ReadGgufMixer(file, "mamba2");
  sizes.layers = GgufSize(file, "mamba2.block_count", kMaxLayers);
  const std::string eps_key = "mamba2.attention.layer_norm_rms_epsilon";
  sizes.eps = CheckedEps(GgufFloat(file, eps_key), eps_key, file.path);
  ModelConfig config = MakeConfig(sizes, Layout::kGguf);
  config.vocab_size = config.token_count = GgufVocabulary(file);
  config.tied_head = !file.tensors.tensors.contains("output.weight");
  return config;
}

GgufKeys MakeMamba2Keys(const ModelConfig& config) {
  const auto u32 = [](int64_t value) { return GgufValue(static_cast<uint32_t>(value)); };
  GgufKeys keys = {{"mamba2.context_length", u32(1 << 20)},
                   {"mamba2.embedding_length", u32(config.d_model)},
                   {"mamba2.block_count", u32(config.num_layers())},
                   {"mamba2.feed_forward_length", u32(0)},
                   {"mamba2.attention.head_count", u32(0)},
                   {"mamba2.attention.layer_norm_rms_epsilon", config.norm_eps}};
  // All mixers agree: a GGUF file has one state size.
  for (auto& key : MakeGgufMixerKeys(config.mixers.front(), "mamba2")) keys.push_back(std::move(key));
  return keys;
}

constexpr std::string_view kMamba2Architectures[] = {"mamba2"};
constexpr GgufForm kMamba2Gguf = {.architectures = kMamba2Architectures,
                                  .recognize = nullptr,
                                  .parse = ParseMamba2Gguf,
                                  .architecture = [](const ModelConfig&) { return kMamba2Architectures[0]; },
                                  .make_keys = MakeMamba2Keys,
                                  .why_not = nullptr};

constexpr RemoteCode kMamba2RemoteCode = {
    .module = "modeling_ghost_mamba2", .class_name = "GhostMamba2ForCausalLM", .text =
#include "checkpoint/modeling_ghost_mamba2.inc"
};

// All have headdim 64, d_state 128, a convolution of width 4 and expand 2.
struct Mamba2Shape {
  std::string_view name;
  int d_model, layers, heads, groups, vocab;
  bool tied;
};
constexpr Mamba2Shape kReleasedMamba2[] = {
    {"mamba2-130m", 768, 24, 24, 1, 50288, true},     {"mamba2-370m", 1024, 48, 32, 1, 50288, true},
    {"mamba2-780m", 1536, 48, 48, 1, 50288, true},    {"mamba2-1.3b", 2048, 48, 64, 1, 50288, true},
    {"mamba2-2.7b", 2560, 64, 80, 1, 50288, true},    {"codestral-mamba-7b", 4096, 64, 128, 8, 32768, false},
    {"codestral-7b", 4096, 64, 128, 8, 32768, false},  // the same model
};

ModelConfig MakeReleasedMamba2(std::string_view name) {
  const auto& r = *std::ranges::find(kReleasedMamba2, name, &Mamba2Shape::name);
  MixerDims mixer;
  mixer.d_model = r.d_model;
  mixer.num_heads = r.heads;
  mixer.head_dim = 64;
  mixer.conv_width = 4;
  mixer.SetGroups(UniformGroups(r.groups, 128));
  ModelConfig config = MakeMamba2(mixer, r.layers, r.vocab);
  config.tied_head = r.tied;
  return config;
}

std::vector<ReleasedModel> ReleasedMamba2() {
  std::vector<ReleasedModel> models;
  for (const Mamba2Shape& r : kReleasedMamba2) models.push_back({std::string(r.name), MakeReleasedMamba2});
  return models;
}

}  // namespace

constinit const Family kMamba2Family = {.name = "mamba2",
                                        .title = "Mamba2",
                                        .transformers_class = "Mamba2ForCausalLM",
                                        .parse = ParseMamba2,
                                        .recognize = IsOtherMamba2,
                                        .arrange = ArrangeMamba2,
                                        .fit = nullptr,
                                        .make_config = MakeMamba2Json,
                                        .state_size_path = Mamba2StateSizePath,
                                        .gguf = &kMamba2Gguf,
                                        .trainable = true,
                                        .released = ReleasedMamba2,
                                        .remote_code = &kMamba2RemoteCode};

ModelConfig MakeMamba2(const MixerDims& mixer, int layers, int vocab_size) {
  ModelConfig config = MakeConfig({.mixer = mixer, .layers = layers}, Layout::kHuggingFace);
  config.vocab_size = config.token_count = vocab_size;
  return config;
}

}  // namespace ghost
