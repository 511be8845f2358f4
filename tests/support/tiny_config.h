// The configuration of a model small enough for slow tests.
#pragma once

#include "checkpoint/families/mamba2.h"
#include "checkpoint/families/zamba2.h"

namespace ghost {

// d_model 32, 8 heads of 8; G groups of N state channels.
inline MixerDims TinyMixer(int groups, int state_dim) {
  MixerDims dims;
  dims.d_model = 32;
  dims.num_heads = 8;
  dims.head_dim = 8;
  dims.conv_width = 4;
  dims.SetGroups(UniformGroups(groups, state_dim));
  return dims;
}

// Two layers of it.
inline ModelConfig TinyConfig(int groups, int state_dim, int vocab_size = 50) {
  return MakeMamba2(TinyMixer(groups, state_dim), /*layers=*/2, vocab_size);
}

// A Zamba2 of 5 such layers, 2 groups of 6: layers 1, 2 and 4 are hybrid, the first and the last with one
// shared block, the other with a second; half as many key heads as query heads.
inline ModelConfig TinyHybrid() {
  return MakeZamba2(TinyMixer(/*groups=*/2, /*state_dim=*/6), /*layers=*/5, /*hybrid_layers=*/{1, 2, 4},
                    {.num_blocks = 2,
                     .num_heads = 4,
                     .num_kv_heads = 2,
                     .head_dim = 16,
                     .mlp_width = 40,
                     .adapter_rank = 6,
                     .attention_adapters = true,
                     .rope_theta = 10000.0},
                    /*vocab_size=*/50);
}

// Changes every mixer of a configuration.
template <class Change>
void ForEachMixer(ModelConfig& config, Change change) {
  for (MixerDims& dims : config.mixers) change(dims);
}

}  // namespace ghost
