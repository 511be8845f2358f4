// The configuration of a model small enough for slow tests.
#pragma once

#include "model/config.h"

namespace ghost {

// d_model 32, 8 heads of 8, 2 layers; G groups of N state channels.
inline ModelConfig TinyConfig(int groups, int state_dim, int vocab_size = 50) {
  ModelConfig config;
  config.d_model = 32;
  config.vocab_size = config.token_count = vocab_size;
  BlockDims dims;
  dims.d_model = 32;
  dims.num_heads = 8;
  dims.head_dim = 8;
  dims.conv_width = 4;
  dims.group_begin = UniformGroups(groups, state_dim);
  config.blocks.assign(2, dims);
  return config;
}

// A Zamba2 of 5 such layers, 2 groups of 6: layers 1, 2 and 4 are hybrid, the first and the last with one
// shared block, the other with a second; half as many key heads as query heads.
inline ModelConfig TinyHybrid() {
  ModelConfig config = TinyConfig(/*groups=*/2, /*state_dim=*/6);
  config.family = Family::kZamba2;
  config.blocks.assign(5, config.blocks.front());
  config.hybrid_layers = {1, 2, 4};
  config.shared = {.num_blocks = 2,
                   .num_heads = 4,
                   .num_kv_heads = 2,
                   .head_dim = 16,
                   .mlp_width = 40,
                   .adapter_rank = 6,
                   .attention_adapters = true,
                   .rope_theta = 10000.0};
  return config;
}

}  // namespace ghost
