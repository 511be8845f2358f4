// The one table of tensor names and shapes. Loader, writers, parameter counts and `ghost inspect` walk it, so
// that a tensor cannot be known to one of them and forgotten by another.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "tensor/tensor.h"

namespace ghost {

// One Mamba2 block as stored. Empty tensors are absent ones (the optional biases).
struct BlockWeights {
  Tensor norm;           // (M)
  Tensor in_proj;        // (2R+2GN+H, M), rows z | x | B | C | dt
  Tensor in_proj_bias;   // (2R+2GN+H), optional
  Tensor conv;           // (R+2GN, 1, W), channels x | B | C
  Tensor conv_bias;      // (R+2GN), optional
  Tensor dt_bias;        // (H)
  Tensor a_log;          // (H); in GGUF files -exp(A_log) is stored instead
  Tensor d;              // (H)
  Tensor gate_norm;      // (R)
  Tensor out_proj;       // (M, R)
  Tensor out_proj_bias;  // (M), optional
};

// Empty for an absent tensor.
inline std::vector<float> OptionalFloats(const Tensor& tensor) {
  return tensor.empty() ? std::vector<float>{} : ToFloats(tensor);
}

// A low-rank addition to a projection: up (down x).
struct AdapterWeights {
  Tensor down;  // (rank, inputs)
  Tensor up;    // (outputs, rank)
};

// What a hybrid layer has for itself beside its mixer.
struct HybridWeights {
  AdapterWeights q, k, v;  // optional
  AdapterWeights gate_up;
  Tensor link;  // (M, M): from the shared block's output to the mixer's input
};

// A transformer block that hybrid layers take turns to use.
struct SharedBlockWeights {
  Tensor input_norm;    // (2M): of the residual stream joined with the embeddings
  Tensor q, k, v;       // (heads * d, 2M), and for k and v of their own heads
  Tensor out;           // (M, heads * d)
  Tensor mlp_norm;      // (M)
  Tensor gate_up;       // (2F, M), rows gate | up
  Tensor gate_up_bias;  // (2F), optional
  Tensor down;          // (M, F)
  Tensor down_bias;     // (M), optional
};

struct ModelWeights {
  Tensor embedding;   // (V, M)
  Tensor final_norm;  // (M)
  Tensor head;        // (V, M); shares the embedding's bytes when tied
  std::vector<BlockWeights> blocks;
  std::vector<SharedBlockWeights> shared;  // one per shared block
  std::vector<HybridWeights> hybrids;      // one per hybrid layer

  ModelWeights() = default;
  // With a place for every tensor of a model.
  explicit ModelWeights(const ModelConfig& config);
};

// A row of the table.
struct TensorRow {
  std::string name;                  // in Hugging Face and original checkpoints
  std::vector<std::string> aliases;  // where else it may stand in files in circulation
  std::string gguf;                  // in GGUF files; empty where the format has no name
  Shape shape;                       // as the former store it; GGUF drops or adds extents of 1
  bool is_matrix;                    // takes the weight type of a GGUF file, where all others stay F32
};

// Where the tensors of a layer's block stand in Hugging Face and original checkpoints.
struct BlockNames {
  std::string norm;   // whole
  std::string mixer;  // up to and with the dot
};
BlockNames NamesOfBlock(const ModelConfig& config, int layer);

// Of the tensors outside the layers.
struct ModelNames {
  std::string embedding, final_norm;
  std::vector<std::string> embedding_aliases;
};
ModelNames NamesOfModel(const ModelConfig& config);

template <class Block, class Visit>
void ForEachBlockTensor(Block& w, const BlockDims& dims, const ModelConfig& config, int layer,
                        Visit&& visit) {
  const int64_t M = dims.d_model, R = dims.d_inner(), H = dims.num_heads, W = dims.conv_width;
  const int64_t rows = dims.in_proj_rows(), C = dims.conv_channels();
  const BlockNames names = NamesOfBlock(config, layer);
  const std::string gguf = "blk." + std::to_string(layer) + ".";
  const auto row = [&](auto& slot, const char* name, const char* gguf_name, Shape shape,
                       bool is_matrix = false) {
    visit(slot, TensorRow{names.mixer + name, {}, gguf + gguf_name, shape, is_matrix});
  };
  visit(w.norm, TensorRow{names.norm, {}, gguf + "attn_norm.weight", {M}, /*is_matrix=*/false});
  row(w.in_proj, "in_proj.weight", "ssm_in.weight", {rows, M}, /*is_matrix=*/true);
  if (config.projection_bias) row(w.in_proj_bias, "in_proj.bias", "ssm_in.bias", {rows});
  row(w.conv, "conv1d.weight", "ssm_conv1d.weight", {C, 1, W});
  if (config.conv_bias) row(w.conv_bias, "conv1d.bias", "ssm_conv1d.bias", {C});
  row(w.dt_bias, "dt_bias", "ssm_dt.bias", {H});
  row(w.a_log, "A_log", "ssm_a", {H});
  row(w.d, "D", "ssm_d", {H});
  row(w.gate_norm, "norm.weight", "ssm_norm.weight", {R});
  row(w.out_proj, "out_proj.weight", "ssm_out.weight", {M, R}, /*is_matrix=*/true);
  if (config.projection_bias) row(w.out_proj_bias, "out_proj.bias", "ssm_out.bias", {M});
}

// The name of a tensor of shared block `number`, which is stored under one, or every, hybrid layer that uses
// it.
TensorRow SharedRow(const ModelConfig& config, int number, const std::string& name, Shape shape,
                    bool is_matrix);

template <class Block, class Visit>
void ForEachSharedTensor(Block& w, const ModelConfig& config, int number, Visit&& visit) {
  const SharedBlockDims& d = config.shared;
  const int64_t M = config.d_model, Q = d.query_width(), KV = d.kv_width(), F = d.mlp_width;
  const auto row = [&](auto& slot, const char* name, Shape shape) {
    visit(slot, SharedRow(config, number, name, shape, /*is_matrix=*/shape.rank() == 2));
  };
  row(w.input_norm, "input_layernorm.weight", {2 * M});
  row(w.q, "self_attn.q_proj.weight", {Q, 2 * M});
  row(w.k, "self_attn.k_proj.weight", {KV, 2 * M});
  row(w.v, "self_attn.v_proj.weight", {KV, 2 * M});
  row(w.out, "self_attn.o_proj.weight", {M, Q});
  row(w.mlp_norm, "pre_ff_layernorm.weight", {M});
  row(w.gate_up, "feed_forward.gate_up_proj.weight", {2 * F, M});
  row(w.down, "feed_forward.down_proj.weight", {M, F});
  if (!config.projection_bias) return;
  row(w.gate_up_bias, "feed_forward.gate_up_proj.bias", {2 * F});
  row(w.down_bias, "feed_forward.down_proj.bias", {M});
}

// The adapters of the q-th hybrid layer stand in the list of its shared block, under number q.
template <class Hybrid, class Visit>
void ForEachHybridTensor(Hybrid& w, const ModelConfig& config, int q, Visit&& visit) {
  const SharedBlockDims& d = config.shared;
  const int64_t M = config.d_model, rank = d.adapter_rank;
  const auto adapter = [&](auto& pair, const std::string& list, int64_t inputs, int64_t outputs) {
    const std::string entry = list + "." + std::to_string(q);
    const int number = q % d.num_blocks;
    visit(pair.down, SharedRow(config, number, entry + ".0.weight", {rank, inputs}, /*is_matrix=*/true));
    visit(pair.up, SharedRow(config, number, entry + ".1.weight", {outputs, rank}, /*is_matrix=*/true));
  };
  if (d.attention_adapters) {
    adapter(w.q, "self_attn.linear_q_adapter_list", 2 * M, d.query_width());
    adapter(w.k, "self_attn.linear_k_adapter_list", 2 * M, d.kv_width());
    adapter(w.v, "self_attn.linear_v_adapter_list", 2 * M, d.kv_width());
  }
  adapter(w.gate_up, "feed_forward.gate_up_proj_adapter_list", M, 2 * int64_t{d.mlp_width});
  const int layer = config.hybrid_layers[static_cast<size_t>(q)];
  visit(w.link, TensorRow{"model.layers." + std::to_string(layer) + ".linear.weight",
                          {},
                          "",
                          {M, M},
                          /*is_matrix=*/true});
}

// visit(slot, row) for every tensor a model of this config has: embedding, blocks, what hybrid layers share
// and have, final norm, head. `Weights` is ModelWeights or ModelGradients made for this config.
template <class Weights, class Visit>
void ForEachTensor(Weights& w, const ModelConfig& config, Visit&& visit) {
  const int64_t V = config.vocab_size, M = config.d_model;
  const ModelNames names = NamesOfModel(config);
  visit(w.embedding, TensorRow{names.embedding, names.embedding_aliases, "token_embd.weight", Shape{V, M},
                               /*is_matrix=*/true});
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const auto index = static_cast<size_t>(layer);
    ForEachBlockTensor(w.blocks[index], config.blocks[index], config, layer, visit);
  }
  if constexpr (requires { w.shared; }) {  // gradients exist for the tensors of Mamba2 alone
    for (int number = 0; number < static_cast<int>(w.shared.size()); ++number)
      ForEachSharedTensor(w.shared[static_cast<size_t>(number)], config, number, visit);
    for (int q = 0; q < config.num_hybrids(); ++q)
      ForEachHybridTensor(w.hybrids[static_cast<size_t>(q)], config, q, visit);
  }
  visit(w.final_norm, TensorRow{names.final_norm, {}, "output_norm.weight", Shape{M}, /*is_matrix=*/false});
  if (!config.tied_head)
    visit(w.head, TensorRow{"lm_head.weight", {}, "output.weight", Shape{V, M}, /*is_matrix=*/true});
}

// Finds every tensor of the table in `set` and checks type and shape; what stands in several places must be
// the same in all of them. All missing, misshapen, wrongly typed and unknown tensors are reported in one
// Error(kCorrupt). Copies no weight. `source` names the checkpoint in messages.
ModelWeights BindWeights(const TensorSet& set, const ModelConfig& config, const std::string& source);

// Parameters, a tied head counted once.
int64_t CountParameters(const ModelConfig& config);

}  // namespace ghost
