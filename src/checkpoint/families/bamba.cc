// Bamba: a mixer or attention, then a gated MLP. Attention rotates the first half of every head.
#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/config_reader.h"
#include "checkpoint/families/granite.h"
#include "checkpoint/families/hybrid_model.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

// In GGUF files RoPE pairs neighbouring channels.
void ArrangeBamba(ModelConfig& config) {
  const bool gguf = config.layout == Layout::kGguf;
  config.embedding = {"model.embed_tokens.weight", {}, "token_embd.weight"};
  config.final_norm = {"model.final_layernorm.weight", {}, "output_norm.weight"};
  config.head = {"lm_head.weight", {}, "output.weight"};
  config.own_prefixes = gguf ? std::vector<std::string>{} : std::vector<std::string>{"model.", "lm_head."};
  for (AttentionDims& d : config.attentions)
    d.rope_pairs = gguf ? RopePairs::kNeighbours : RopePairs::kHalves;
  for (MlpDims& d : config.mlps) d.up_name = {.name = "up_proj", .gguf = "ffn_up"};
  for (int j = 0; j < config.num_layers(); ++j) {
    LayerSpec& layer = config.layers[static_cast<size_t>(j)];
    const PartNames block{fmt::format("model.layers.{}.", j), {}, fmt::format("blk.{}.", j)};
    layer.steps[0].norm = block.Of("input_layernorm.weight", "attn_norm.weight");
    layer.steps[1].norm = block.Of("pre_ff_layernorm.weight", "ffn_norm.weight");
    NameParts(layer, block,
              {.mixer = "mamba.", .attention = "self_attn.", .mlp = "feed_forward.", .experts = ""}, config);
  }
}

ModelConfig MakeBamba(const HybridModel& model, Layout layout) {
  ModelConfig config = BeginModel(model, kBambaFamily.name, layout);
  for (const LayerKind kind : model.kinds) {
    const PartRef first =
        kind == LayerKind::kMamba ? AddMixer(model, config) : AddPart(model.attention, config);
    config.layers.push_back({{MakeStep(model, {first}), MakeStep(model, {AddPart(model.mlp, config)})}});
  }
  ArrangeBamba(config);
  return config;
}

// From the numbers of the attention layers, or from a word per layer. No list: no attention.
std::vector<LayerKind> ReadBambaKinds(const Json& json, const std::string& file) {
  const int64_t layers = JsonInt(json, "num_hidden_layers", 32, 1, kMaxLayers, file);
  std::vector<LayerKind> kinds(static_cast<size_t>(layers), LayerKind::kMamba);
  const std::string indices = "attn_layer_indices";
  if (const auto it = json.find(indices); it != json.end() && !it->is_null()) {
    const std::string expected = fmt::format("numbers from 0 to {}", layers - 1);
    if (!it->is_array()) ThrowInconsistentConfig(file, indices, expected, it->dump());
    for (const Json& index : *it) {
      if (!index.is_number_unsigned() || index.get<uint64_t>() >= static_cast<uint64_t>(layers))
        ThrowInconsistentConfig(file, indices, expected, it->dump());
      kinds[index.get<size_t>()] = LayerKind::kAttention;
    }
    return kinds;
  }
  const std::string words = SpellingIn(json, {"layer_types", "layers_block_type"});
  if (const auto it = json.find(words); it != json.end() && !it->is_null()) {
    const std::vector<LayerKind> listed = ReadLayerKinds(*it, words, file);
    const bool known = std::ranges::all_of(
        listed, [](LayerKind kind) { return kind == LayerKind::kMamba || kind == LayerKind::kAttention; });
    if (!known || listed.size() != kinds.size())
      ThrowInconsistentConfig(file, words, fmt::format("mamba or attention for {} layers", layers),
                              it->dump());
    return listed;
  }
  return kinds;
}

MlpDims MakeGatedMlp(int d_model, int width) {
  return {.d_model = d_model, .width = width, .activation = Activation::kSilu, .joined = false};
}

ModelConfig ParseBamba(const Json& json, const std::string& file) {
  RefuseHybridOptions(json, file);
  RequireWord(json, "hidden_act", "silu", file);
  HybridModel m;
  m.d_model = static_cast<int>(JsonInt(json, "hidden_size", 4096, 1, kMaxWidth, file));
  m.vocab_size = static_cast<int>(JsonInt(json, "vocab_size", 128000, 1, kMaxVocab, file));
  m.eps = CheckedEps(JsonDouble(json, "rms_norm_eps", 1e-5, file), "rms_norm_eps", file);
  m.tied_head = JsonBool(json, "tie_word_embeddings", false, file);
  m.kinds = ReadBambaKinds(json, file);
  m.mixer = ReadMambaKeys(json, m.d_model, /*inner_size=*/0, file);
  if (m.has(LayerKind::kAttention)) {
    m.attention = ReadAttentionKeys(json, m.d_model, /*default_head_dim=*/0, /*default_kv_heads=*/8, file);
    m.attention.bias = m.attention.out_bias = JsonBool(json, "attention_bias", false, file);
    SetRope(ReadRopeTheta(json, 10000.0, file), m.attention.head_dim / 2, file, m.attention);
  }
  m.mlp = MakeGatedMlp(m.d_model,
                       static_cast<int>(JsonInt(json, "intermediate_size", 14336, 1, kMaxWidth, file)));
  m.mlp.bias = JsonBool(json, "mlp_bias", false, file);
  return MakeBamba(m, Layout::kHuggingFace);
}

OrderedJson MakeBambaJson(const ModelConfig& config) {
  OrderedJson json = BeginHybridJson(config, "rms_norm_eps");
  json["num_hidden_layers"] = config.num_layers();
  OrderedJson attention = OrderedJson::array();
  for (int j = 0; j < config.num_layers(); ++j) {
    if (LayerHas(config.layers[static_cast<size_t>(j)], PartKind::kAttention)) attention.push_back(j);
  }
  json["attn_layer_indices"] = attention;
  AddMambaKeys(config, json);
  AddAttentionKeys(config, json);
  if (!config.attentions.empty()) json["attn_rotary_emb"] = config.attentions.front().rotated;
  json.update(OrderedJson{{"intermediate_size", config.mlps.front().width},
                          {"mlp_bias", config.mlps.front().bias},
                          {"hidden_act", "silu"},
                          {"bos_token_id", 1},
                          {"eos_token_id", 2},
                          {"pad_token_id", 0}});
  return json;
}

std::vector<std::string_view> BambaStateSizePath(const ModelConfig&, const std::string&, const std::string&) {
  return {"mamba_d_state"};
}

// --- GGUF: its files say granitehybrid; that a part of every head is rotated tells them from Granite's ---

constexpr std::string_view kBambaArchitectures[] = {"granitehybrid"};

bool IsBambaGguf(const GgufFile& file) {
  const HybridModel m = ReadGranitehybrid(file);
  return m.attention.rope_theta > 0.0 && m.attention.rotated != m.attention.head_dim;
}

ModelConfig ParseBambaGguf(const GgufFile& file) {
  HybridModel m = ReadGranitehybrid(file);
  const bool bias = m.mlp.bias;
  m.mlp = MakeGatedMlp(m.d_model, m.mlp.width);
  m.mlp.bias = bias;
  return MakeBamba(m, Layout::kGguf);
}

constexpr GgufForm kBambaGguf = {.architectures = kBambaArchitectures,
                                 .recognize = IsBambaGguf,
                                 .parse = ParseBambaGguf,
                                 .architecture = GranitehybridArchitecture,
                                 .make_keys = MakeGraniteGgufKeys,
                                 .why_not = WhyNoGranitehybrid};

ModelConfig MakeReleasedBamba(std::string_view) {
  HybridModel m;
  m.d_model = 4096;
  m.vocab_size = 128256;
  m.kinds.assign(32, LayerKind::kMamba);
  for (const size_t layer : {9, 18, 27}) m.kinds[layer] = LayerKind::kAttention;
  m.mixer = ReleasedMixer(m.d_model, /*heads=*/128, /*head_dim=*/64, /*groups=*/1, /*state_dim=*/128);
  m.attention =
      MakeAttentionDims({.d_model = m.d_model, .heads = 32, .kv_heads = 8, .head_dim = 128, .file = ""});
  SetRope(10000.0, 64, "", m.attention);
  m.mlp = MakeGatedMlp(m.d_model, 14336);
  return MakeBamba(m, Layout::kHuggingFace);
}

std::vector<ReleasedModel> ReleasedBamba() { return {{"bamba-9b", MakeReleasedBamba}}; }

}  // namespace

constinit const Family kBambaFamily = {.name = "bamba",
                                       .title = "Bamba",
                                       .transformers_class = "BambaForCausalLM",
                                       .parse = ParseBamba,
                                       .recognize = nullptr,
                                       .arrange = ArrangeBamba,
                                       .fit = nullptr,
                                       .make_config = MakeBambaJson,
                                       .state_size_path = BambaStateSizePath,
                                       .gguf = &kBambaGguf,
                                       .trainable = false,
                                       .released = ReleasedBamba};

}  // namespace ghost
