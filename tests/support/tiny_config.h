// A model small enough for tests that compute things twice.
#pragma once

#include "model/config.h"

namespace ghost {

// d_model 32, 8 heads of 8, 2 layers; G groups of N state channels.
inline ModelConfig TinyConfig(int groups, int state_dim, int vocab_size = 50) {
  ModelConfig config;
  config.family = "mamba2";
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

}  // namespace ghost
