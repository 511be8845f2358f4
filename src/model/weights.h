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

struct ModelWeights {
  Tensor embedding;   // (V, M)
  Tensor final_norm;  // (M)
  Tensor head;        // (V, M); shares the embedding's bytes when tied
  std::vector<BlockWeights> blocks;
};

// A row of the table.
struct TensorRow {
  std::string name;   // in Hugging Face and original checkpoints
  std::string alias;  // another spelling in circulation, or empty
  std::string gguf;   // in GGUF files
  Shape shape;        // as the former store it; GGUF drops or adds extents of 1
  bool is_matrix;     // takes the weight type of a GGUF file, where all others stay F32
};

template <class Block, class Visit>
void ForEachBlockTensor(Block& w, const BlockDims& dims, const ModelConfig& config, int layer,
                        Visit&& visit) {
  const int64_t M = dims.d_model, R = dims.d_inner(), H = dims.num_heads, W = dims.conv_width;
  const int64_t rows = dims.in_proj_rows(), C = dims.conv_channels();
  const std::string hf = "backbone.layers." + std::to_string(layer) + ".",
                    gguf = "blk." + std::to_string(layer) + ".";
  const auto row = [&](auto& slot, const char* name, const char* gguf_name, Shape shape,
                       bool is_matrix = false) {
    visit(slot, TensorRow{hf + name, "", gguf + gguf_name, shape, is_matrix});
  };
  row(w.norm, "norm.weight", "attn_norm.weight", {M});
  row(w.in_proj, "mixer.in_proj.weight", "ssm_in.weight", {rows, M}, /*is_matrix=*/true);
  if (config.projection_bias) row(w.in_proj_bias, "mixer.in_proj.bias", "ssm_in.bias", {rows});
  row(w.conv, "mixer.conv1d.weight", "ssm_conv1d.weight", {C, 1, W});
  if (config.conv_bias) row(w.conv_bias, "mixer.conv1d.bias", "ssm_conv1d.bias", {C});
  row(w.dt_bias, "mixer.dt_bias", "ssm_dt.bias", {H});
  row(w.a_log, "mixer.A_log", "ssm_a", {H});
  row(w.d, "mixer.D", "ssm_d", {H});
  row(w.gate_norm, "mixer.norm.weight", "ssm_norm.weight", {R});
  row(w.out_proj, "mixer.out_proj.weight", "ssm_out.weight", {M, R}, /*is_matrix=*/true);
  if (config.projection_bias) row(w.out_proj_bias, "mixer.out_proj.bias", "ssm_out.bias", {M});
}

// visit(slot, row) for every tensor a model of this config has, in file order: embedding, blocks, final norm,
// head. `Weights` is ModelWeights or const ModelWeights; its `blocks` must have config.num_layers() entries.
template <class Weights, class Visit>
void ForEachTensor(Weights& w, const ModelConfig& config, Visit&& visit) {
  const int64_t V = config.vocab_size, M = config.d_model;
  const bool original = config.layout == Layout::kStateSpaces;
  const std::string plural = "backbone.embeddings.weight", singular = "backbone.embedding.weight";
  visit(w.embedding, TensorRow{original ? singular : plural, original ? plural : singular,
                               "token_embd.weight", Shape{V, M}, /*is_matrix=*/true});
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const auto index = static_cast<size_t>(layer);
    ForEachBlockTensor(w.blocks[index], config.blocks[index], config, layer, visit);
  }
  visit(w.final_norm,
        TensorRow{"backbone.norm_f.weight", "", "output_norm.weight", Shape{M}, /*is_matrix=*/false});
  if (!config.tied_head)
    visit(w.head, TensorRow{"lm_head.weight", "", "output.weight", Shape{V, M}, /*is_matrix=*/true});
}

// Finds every tensor of the table in `set` and checks type and shape. All missing, misshapen, wrongly typed
// and unknown tensors are reported in one Error(kCorrupt). Copies no weight. `source` names the checkpoint in
// messages.
ModelWeights BindWeights(const TensorSet& set, const ModelConfig& config, const std::string& source);

// Parameters, a tied head counted once.
int64_t CountParameters(const ModelConfig& config);

}  // namespace ghost
