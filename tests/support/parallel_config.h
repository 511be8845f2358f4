// A model of layers that no family of ours has yet, to test that parts combine freely.
#pragma once

#include <string>

#include "tests/support/tiny_config.h"

namespace ghost {

// Three layers, 2 groups of 6 state channels:
//   0: a mixer and attention side by side on one normed input, then an MLP;
//   1: attention, then an MLP;
//   2: a mixer.
inline ModelConfig ParallelConfig() {
  ModelConfig config;
  config.family = "parallel";
  config.d_model = 32;
  config.vocab_size = config.token_count = 50;
  config.embedding = {"embedding"};
  config.final_norm = {"final_norm.weight"};
  config.head = {"head"};
  const auto mixer = [&](int layer) {
    MixerDims dims = TinyMixer(/*groups=*/2, /*state_dim=*/6);
    dims.layer = layer;
    dims.names.prefix = std::to_string(layer) + ".mixer.";
    return AddPart(dims, config);
  };
  const auto attention = [&](int layer) {
    return AddPart(AttentionDims{.d_input = 32,
                                 .d_model = 32,
                                 .num_heads = 4,
                                 .num_kv_heads = 2,
                                 .head_dim = 8,
                                 .scale = 0.35f,
                                 .rope_theta = 10000.0,
                                 .names = {std::to_string(layer) + ".attention."}},
                   config);
  };
  const auto mlp = [&](int layer) {
    return AddPart(
        MlpDims{.d_model = 32, .width = 40, .bias = true, .names = {std::to_string(layer) + ".mlp."}},
        config);
  };
  const auto step = [](const std::string& name, std::vector<PartRef> parts) {
    StepSpec spec;
    spec.norm = {name + "norm.weight"};
    spec.parts = std::move(parts);
    return spec;
  };
  config.layers.push_back({{step("0.", {mixer(0), attention(0)}), step("0.post_", {mlp(0)})}});
  config.layers.push_back({{step("1.", {attention(1)}), step("1.post_", {mlp(1)})}});
  config.layers.push_back({{step("2.", {mixer(2)})}});
  return config;
}

}  // namespace ghost
