// Configurations in the form of the Hugging Face library.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/config.h"

namespace ghost {
namespace {

// The shortest decimal that reads back as the same float: 1e-05, not 9.999999747378752e-06.
double Decimal(float value) { return std::stod(fmt::format("{}", value)); }

OrderedJson Expand(const ModelConfig& config) {
  const int inner = config.blocks.front().d_inner();
  if (inner % config.d_model == 0) return inner / config.d_model;  // whole in every released model
  return static_cast<double>(inner) / config.d_model;
}

int LargestState(const ModelConfig& config) {
  int size = 1;
  for (const BlockDims& block : config.blocks) size = std::max(size, block.max_group_size());
  return size;
}

OrderedJson MakeMamba2Config(const ModelConfig& config) {
  const BlockDims& d = config.blocks.front();
  OrderedJson json = {
      {"architectures", {"Mamba2ForCausalLM"}},
      {"model_type", "mamba2"},
      {"hidden_size", config.d_model},
      {"num_hidden_layers", config.num_layers()},
      {"num_heads", d.num_heads},
      {"head_dim", d.head_dim},
      {"n_groups", d.num_groups()},
      {"state_size", LargestState(config)},
      {"conv_kernel", d.conv_width},
      {"expand", Expand(config)},
      {"vocab_size", config.vocab_size},
      {"layer_norm_epsilon", Decimal(config.norm_eps)},
      {"tie_word_embeddings", config.tied_head},
      {"use_bias", config.projection_bias},
      {"use_conv_bias", config.conv_bias},
      {"residual_in_fp32", true},
      {"hidden_act", "silu"},
      {"bos_token_id", 0},
      {"eos_token_id", 0},
      {"pad_token_id", 0},
  };
  // No clamp is the default; written out, infinity has a spelling that only one line of the library reads.
  if (!std::isinf(config.dt_max)) json["time_step_limit"] = {Decimal(config.dt_min), Decimal(config.dt_max)};
  return json;
}

OrderedJson MakeZamba2Config(const ModelConfig& config) {
  const BlockDims& d = config.blocks.front();
  const SharedBlockDims& shared = config.shared;
  OrderedJson kinds = OrderedJson::array();
  for (int layer = 0; layer < config.num_layers(); ++layer)
    kinds.push_back(config.hybrid_index(layer) >= 0 ? "hybrid" : "mamba");
  OrderedJson json = {
      {"architectures", {"Zamba2ForCausalLM"}},
      {"model_type", "zamba2"},
      {"hidden_size", config.d_model},
      {"num_hidden_layers", config.num_layers()},
      {"layers_block_type", kinds},
      {"hybrid_layer_ids", config.hybrid_layers},
      {"n_mamba_heads", d.num_heads},
      {"mamba_headdim", d.head_dim},
      {"mamba_ngroups", d.num_groups()},
      {"mamba_d_state", LargestState(config)},
      {"mamba_d_conv", d.conv_width},
      {"mamba_expand", Expand(config)},
      {"num_mem_blocks", shared.num_blocks},
      {"num_attention_heads", shared.num_heads},
      {"num_key_value_heads", shared.num_kv_heads},
      {"attention_hidden_size", 2 * config.d_model},
      {"attention_head_dim", shared.head_dim},
      {"intermediate_size", shared.mlp_width},
      {"adapter_rank", shared.adapter_rank},
      {"use_shared_attention_adapter", shared.attention_adapters},
      {"use_mem_rope", shared.rope_theta > 0},
      {"hidden_act", "gelu"},
      {"add_bias_linear", config.projection_bias},
      {"use_conv_bias", true},
      {"vocab_size", config.vocab_size},
      {"rms_norm_eps", Decimal(config.norm_eps)},
      {"tie_word_embeddings", config.tied_head},
      {"bos_token_id", 1},
      {"eos_token_id", 2},
      {"pad_token_id", 0},
  };
  if (shared.rope_theta > 0) json["rope_theta"] = shared.rope_theta;
  return json;
}

}  // namespace

OrderedJson MakeHuggingFaceConfig(const ModelConfig& config) {
  GHOST_CHECK(!config.blocks.empty());
  return config.family == Family::kZamba2 ? MakeZamba2Config(config) : MakeMamba2Config(config);
}

}  // namespace ghost
