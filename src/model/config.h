// What a checkpoint's configuration says, in one form for all families and file layouts.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/gguf.h"

namespace ghost {

// The sizes of one Mamba2 mixer. They belong to the layer, not to the model: after pruning N differs between
// layers and, in our own ragged files, between the groups of a layer.
struct BlockDims {
  int d_model = 0;               // M
  int num_heads = 0;             // H
  int head_dim = 0;              // P
  int conv_width = 0;            // W
  std::vector<int> group_begin;  // (G+1): group g owns state channels [group_begin[g], group_begin[g+1])

  int num_groups() const { return static_cast<int>(group_begin.size()) - 1; }            // G
  int group_size(int g) const { return group_begin[g + 1] - group_begin[g]; }            // N_g
  int group_of_head(int h) const { return h / (num_heads / num_groups()); }              // g = h / K
  int state_channels() const { return group_begin.back(); }                              // sum N_g, = G*N
  int d_inner() const { return num_heads * head_dim; }                                   // R
  int conv_channels() const { return d_inner() + 2 * state_channels(); }                 // R + 2GN
  int in_proj_rows() const { return 2 * d_inner() + 2 * state_channels() + num_heads; }  // 2R + 2GN + H
  int max_group_size() const;
  int64_t state_floats() const;                                                            // H*P*N
  int64_t conv_state_floats() const { return int64_t{conv_width - 1} * conv_channels(); }  // (W-1)(R+2GN)
};

// The usual case: every one of `num_groups` groups has `state_dim` channels.
std::vector<int> UniformGroups(int num_groups, int state_dim);

enum class Family { kMamba2, kZamba2 };
std::string_view NameOf(Family family);

// Which checkpoint layout the names and the config follow.
enum class Layout { kHuggingFace, kStateSpaces, kGguf };
std::string_view NameOf(Layout layout);

// Over how many channels the gated norm takes its mean; they differ only for G > 1.
enum class NormGrouping {
  kFull,     // the whole inner width: what the Hugging Face Mamba2 class computes at inference
  kGrouped,  // per group: what the models were trained with, and what mamba_ssm, vLLM and llama.cpp compute
};

// The transformer blocks that the hybrid layers of a Zamba2 model share. Every layer has a Mamba2 mixer; in a
// hybrid one, attention and MLP on the residual stream and the token embeddings add to what the mixer sees.
struct SharedBlockDims {
  int num_blocks = 1;               // sets of weights; the q-th hybrid layer uses number q mod num_blocks
  int num_heads = 0;                // of queries
  int num_kv_heads = 0;             // of keys and values, a divisor of num_heads
  int head_dim = 0;                 // 2M / num_heads
  int mlp_width = 0;                // F
  int adapter_rank = 0;             // of what each hybrid layer adds to the shared projections
  bool attention_adapters = false;  // q, k and v too; gate_up always
  double rope_theta = 0.0;          // 0: no position embedding

  int query_width() const { return num_heads * head_dim; }
  int kv_width() const { return num_kv_heads * head_dim; }
  // As trained: half of the head's width belongs to the embeddings that the input is joined with.
  float softmax_scale() const;
};

struct ModelConfig {
  Family family = Family::kMamba2;
  Layout layout = Layout::kHuggingFace;
  int d_model = 0;      // M
  int vocab_size = 0;   // V: rows of embedding and head, padding included
  int token_count = 0;  // ids the tokenizer may produce: smaller than V where the file tells, else V
  float norm_eps = 1e-5f;
  float gate_norm_eps = 1e-5f;  // of the mixers' gated norm
  float dt_min = 0.0f;          // clamp of the step size; (0, inf) is none
  float dt_max = std::numeric_limits<float>::infinity();
  bool tied_head = true;
  bool projection_bias = false;  // of the mixers, and of the MLP of shared blocks
  bool conv_bias = true;
  NormGrouping norm_grouping = NormGrouping::kGrouped;
  std::vector<BlockDims> blocks;   // one per layer
  std::vector<int> hybrid_layers;  // ascending; empty for Mamba2
  SharedBlockDims shared;          // means something only if there are hybrid layers

  int num_layers() const { return static_cast<int>(blocks.size()); }
  int num_hybrids() const { return static_cast<int>(hybrid_layers.size()); }
  // Which hybrid layer a layer is, counted from 0, or -1.
  int hybrid_index(int layer) const;
  int norm_groups(const BlockDims& dims) const {
    return norm_grouping == NormGrouping::kGrouped ? dims.num_groups() : 1;
  }
};

// The N that all groups of all layers have, or -1 if they differ.
int UniformStateSize(const ModelConfig& config);

// Each checks every number before anything is sized by it. `file` names the source in messages.
ModelConfig ParseMamba2Config(const Json& json, const std::string& file);  // Hugging Face's
ModelConfig ParseZamba2Config(const Json& json, const std::string& file);  // Hugging Face's
ModelConfig ParseStateSpacesConfig(const Json& json, const std::string& file);
ModelConfig ParseGgufConfig(const GgufFile& file);

// Chooses between the JSON ones by the keys that are there. A config of another architecture is
// Error(kUnsupported).
ModelConfig ParseConfig(const Json& json, const std::string& file);

// The Hugging Face config.json of a model; its state size is the largest N of all layers and groups.
OrderedJson MakeHuggingFaceConfig(const ModelConfig& config);

}  // namespace ghost
