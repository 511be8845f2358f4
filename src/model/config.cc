#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "model/config_parts.h"

namespace ghost {
namespace {

void ReadTimeStepLimit(const Json& json, const std::string& key, const std::string& file,
                       ModelConfig& config) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return;
  if (!it->is_array() || it->size() != 2) ThrowInconsistentConfig(file, key, "two numbers", it->dump());
  const double low = JsonToDouble((*it)[0], key, file), high = JsonToDouble((*it)[1], key, file);
  if (!(low >= 0.0) || !(high >= low)) ThrowInconsistentConfig(file, key, "0 <= low <= high", it->dump());
  config.dt_min = static_cast<float>(low);
  config.dt_max = static_cast<float>(high);
}

uint32_t GgufSize(const GgufFile& file, const std::string& key, int64_t max) {
  const uint64_t value = GgufUint(file, key);
  if (value < 1 || value > static_cast<uint64_t>(max)) {
    ThrowInconsistentConfig(file.path, key, fmt::format("1 to {}", max), std::to_string(value));
  }
  return static_cast<uint32_t>(value);
}

}  // namespace

int BlockDims::max_group_size() const {
  int largest = 0;
  for (int g = 0; g < num_groups(); ++g) largest = std::max(largest, group_size(g));
  return largest;
}

int64_t BlockDims::state_floats() const {
  const int K = num_heads / num_groups();
  return int64_t{K} * head_dim * state_channels();
}

std::vector<int> UniformGroups(int num_groups, int state_dim) {
  std::vector<int> begin(static_cast<size_t>(num_groups) + 1);
  for (int g = 0; g <= num_groups; ++g) begin[static_cast<size_t>(g)] = g * state_dim;
  return begin;
}

int UniformStateSize(const ModelConfig& config) {
  int uniform = -1;
  for (const BlockDims& dims : config.blocks) {
    for (int g = 0; g < dims.num_groups(); ++g) {
      if (uniform == -1) uniform = dims.group_size(g);
      if (dims.group_size(g) != uniform) return -1;
    }
  }
  return uniform;
}

float SharedBlockDims::softmax_scale() const {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim) / 2.0));
}

int ModelConfig::hybrid_index(int layer) const {
  const auto it = std::ranges::lower_bound(hybrid_layers, layer);
  return it != hybrid_layers.end() && *it == layer ? static_cast<int>(it - hybrid_layers.begin()) : -1;
}

std::string_view NameOf(Family family) { return family == Family::kZamba2 ? "zamba2" : "mamba2"; }

std::string_view NameOf(Layout layout) {
  switch (layout) {
    case Layout::kHuggingFace:
      return "huggingface";
    case Layout::kStateSpaces:
      return "state-spaces";
    case Layout::kGguf:
      return "gguf";
  }
  return "?";
}

ModelConfig ParseMamba2Config(const Json& json, const std::string& file) {
  const std::string activation = JsonString(json, "hidden_act", "silu", file);
  if (activation != "silu" && activation != "swish")
    ThrowUnsupportedConfig(file, "hidden_act", "silu", activation);

  ModelConfig config;
  config.family = Family::kMamba2;
  config.layout = Layout::kHuggingFace;
  // Defaults are those of the library's config class; released files leave out what equals them.
  UniformSizes s;
  s.file = file;
  s.inner_key = "hidden_size * expand";
  s.d_model = JsonInt(json, "hidden_size", 4096, 1, kMaxWidth, file);
  s.layers = JsonInt(json, "num_hidden_layers", 64, 1, kMaxLayers, file);
  s.heads = JsonInt(json, "num_heads", 128, 1, kMaxWidth, file);
  s.head_dim = JsonInt(json, "head_dim", 64, 1, kMaxWidth, file);
  s.groups = JsonInt(json, "n_groups", 8, 1, kMaxWidth, file);
  s.state_dim = JsonInt(json, "state_size", 128, 1, kMaxState, file);
  s.conv_width = JsonInt(json, "conv_kernel", 4, 1, 64, file);
  s.inner_size = CheckedInnerSize(JsonDouble(json, "expand", 2.0, file), s.d_model, "expand", file);
  config.d_model = static_cast<int>(s.d_model);
  config.blocks = MakeBlocks(s);
  config.vocab_size = config.token_count =
      static_cast<int>(JsonInt(json, "vocab_size", 32768, 1, kMaxVocab, file));
  config.norm_eps = config.gate_norm_eps =
      CheckedEps(JsonDouble(json, "layer_norm_epsilon", 1e-5, file), "layer_norm_epsilon", file);
  config.tied_head = JsonBool(json, "tie_word_embeddings", false, file);
  config.projection_bias = JsonBool(json, "use_bias", false, file);
  config.conv_bias = JsonBool(json, "use_conv_bias", true, file);
  ReadTimeStepLimit(json, "time_step_limit", file, config);
  return config;
}

ModelConfig ParseStateSpacesConfig(const Json& json, const std::string& file) {
  const auto ssm_it = json.find("ssm_cfg");
  const Json ssm = ssm_it == json.end() || ssm_it->is_null() ? Json::object() : *ssm_it;
  if (!ssm.is_object()) ThrowInconsistentConfig(file, "ssm_cfg", "an object", ssm.dump());
  const std::string layer = JsonString(ssm, "layer", "Mamba1", file);
  if (layer != "Mamba2")
    ThrowUnsupportedConfig(file, "ssm_cfg.layer", "Mamba2 (a missing key means Mamba1)", layer);
  const auto attention = json.find("attn_layer_idx");
  if (attention != json.end() && !attention->is_null() && !attention->empty()) {
    ThrowUnsupportedConfig(file, "attn_layer_idx", "no attention layers", attention->dump());
  }
  if (JsonInt(json, "d_intermediate", 0, 0, kMaxWidth, file) != 0) {
    ThrowUnsupportedConfig(file, "d_intermediate", "0 (no MLP)", json["d_intermediate"].dump());
  }
  for (const char* key : {"D_has_hdim", "norm_before_gate"}) {
    if (JsonBool(ssm, key, false, file))
      ThrowUnsupportedConfig(file, std::string("ssm_cfg.") + key, "false", "true");
  }
  if (!JsonBool(ssm, "rmsnorm", true, file)) ThrowUnsupportedConfig(file, "ssm_cfg.rmsnorm", "true", "false");
  if (!JsonBool(json, "rms_norm", true, file)) ThrowUnsupportedConfig(file, "rms_norm", "true", "false");

  ModelConfig config;
  config.family = Family::kMamba2;
  config.layout = Layout::kStateSpaces;
  UniformSizes s;
  s.file = file;
  s.inner_key = "d_model * ssm_cfg.expand";
  s.d_model = RequiredInt(json, "d_model", kMaxWidth, file);
  s.layers = RequiredInt(json, "n_layer", kMaxLayers, file);
  s.head_dim = JsonInt(ssm, "headdim", 64, 1, kMaxWidth, file);
  s.groups = JsonInt(ssm, "ngroups", 1, 1, kMaxWidth, file);
  s.state_dim = JsonInt(ssm, "d_state", 128, 1, kMaxState, file);
  s.conv_width = JsonInt(ssm, "d_conv", 4, 1, 64, file);
  s.inner_size = s.d_model * JsonInt(ssm, "expand", 2, 1, 64, file);
  s.heads = std::max<int64_t>(1, s.inner_size / s.head_dim);  // MakeBlocks checks that it divides
  if (JsonInt(ssm, "d_ssm", s.inner_size, 1, kMaxWidth * 64, file) != s.inner_size) {
    ThrowUnsupportedConfig(file, "ssm_cfg.d_ssm", std::to_string(s.inner_size), ssm["d_ssm"].dump());
  }
  config.d_model = static_cast<int>(s.d_model);
  config.blocks = MakeBlocks(s);
  const int64_t vocab = JsonInt(json, "vocab_size", 50277, 1, kMaxVocab, file);
  const int64_t multiple = JsonInt(json, "pad_vocab_size_multiple", 8, 1, 65536, file);
  config.token_count = static_cast<int>(vocab);
  config.vocab_size = static_cast<int>((vocab + multiple - 1) / multiple * multiple);
  config.tied_head = JsonBool(json, "tie_embeddings", true, file);
  config.projection_bias = JsonBool(ssm, "bias", false, file);
  config.conv_bias = JsonBool(ssm, "conv_bias", true, file);
  ReadTimeStepLimit(ssm, "dt_limit", file, config);
  return config;
}

ModelConfig ParseConfig(const Json& json, const std::string& file) {
  if (!json.is_object()) ThrowInconsistentConfig(file, "(document)", "a JSON object", json.type_name());
  const std::string type = JsonString(json, "model_type", "", file);
  if (type == "mamba2") return ParseMamba2Config(json, file);
  if (type == "zamba2") return ParseZamba2Config(json, file);
  if (!type.empty()) ThrowUnsupportedConfig(file, "model_type", "mamba2 or zamba2", type);
  if (json.contains("d_model") && json.contains("n_layer")) return ParseStateSpacesConfig(json, file);
  ThrowUnsupportedConfig(file, "model_type",
                         "\"mamba2\", \"zamba2\", or d_model, n_layer and ssm_cfg of the original layout",
                         "neither");
}

ModelConfig ParseGgufConfig(const GgufFile& file) {
  const std::string architecture = GgufString(file, "general.architecture");
  if (architecture != "mamba2")
    ThrowUnsupportedConfig(file.path, "general.architecture", "mamba2", architecture);
  ModelConfig config;
  config.family = Family::kMamba2;
  config.layout = Layout::kGguf;
  UniformSizes s;
  s.file = file.path;
  s.inner_key = "mamba2.ssm.inner_size";
  s.d_model = GgufSize(file, "mamba2.embedding_length", kMaxWidth);
  s.layers = GgufSize(file, "mamba2.block_count", kMaxLayers);
  s.inner_size = GgufSize(file, "mamba2.ssm.inner_size", kMaxWidth);
  s.heads = GgufSize(file, "mamba2.ssm.time_step_rank", kMaxWidth);  // the key's name is historic
  s.head_dim = std::max<int64_t>(1, s.inner_size / s.heads);
  s.groups = GgufSize(file, "mamba2.ssm.group_count", kMaxWidth);
  s.state_dim = GgufSize(file, "mamba2.ssm.state_size", kMaxState);
  s.conv_width = GgufSize(file, "mamba2.ssm.conv_kernel", 64);
  config.d_model = static_cast<int>(s.d_model);
  config.blocks = MakeBlocks(s);
  const std::string eps_key = "mamba2.attention.layer_norm_rms_epsilon";
  config.norm_eps = config.gate_norm_eps = CheckedEps(GgufFloat(file, eps_key), eps_key, file.path);
  // The vocabulary is the token list; a file without one (weights only) still has its embedding to count.
  const auto embedding = file.tensors.tensors.find("token_embd.weight");
  int64_t vocab = embedding == file.tensors.tensors.end() || embedding->second.tensor.shape().rank() != 2
                      ? 1
                      : embedding->second.tensor.shape()[0];
  if (file.keys.contains("tokenizer.ggml.tokens")) {
    vocab = static_cast<int64_t>(GgufStrings(file, "tokenizer.ggml.tokens").size());
  }
  if (vocab < 1 || vocab > kMaxVocab) {
    ThrowInconsistentConfig(file.path, "tokenizer.ggml.tokens", fmt::format("1 to {}", kMaxVocab),
                            std::to_string(vocab));
  }
  config.vocab_size = config.token_count = static_cast<int>(vocab);
  config.tied_head = !file.tensors.tensors.contains("output.weight");
  return config;
}

}  // namespace ghost
