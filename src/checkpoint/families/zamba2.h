// Zamba2: every layer has a Mamba2 mixer; in some of them a transformer block that several layers share adds
// to what the mixer's norm reads.
#pragma once

#include <vector>

#include "model/config.h"

namespace ghost {

// The shared blocks of a model, whose uses take turns with `num_blocks` sets of weights.
struct Zamba2Shared {
  int num_blocks = 1;
  int num_heads = 0;     // of queries
  int num_kv_heads = 0;  // of keys and values, a divisor of num_heads
  int head_dim = 0;      // 2M / num_heads
  int mlp_width = 0;     // F
  int adapter_rank = 0;
  bool attention_adapters = false;
  double rope_theta = 0.0;  // 0: no position embedding
};

// `hybrid_layers` are those with a shared block, ascending. Biases of the mixer are those of the MLP too.
ModelConfig MakeZamba2(const MixerDims& mixer, int layers, const std::vector<int>& hybrid_layers,
                       const Zamba2Shared& shared, int vocab_size, float eps = 1e-5f);

}  // namespace ghost
