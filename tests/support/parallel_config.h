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
                                 .rotated = 8,
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

// The same with B and C mapped to 2 and 3, or 4 and 1 state channels.
inline ModelConfig MappedConfig() {
  ModelConfig config = ParallelConfig();
  for (MixerDims& dims : config.mixers) {
    dims.state_maps = true;
    dims.state_begin = GroupsOfSizes(dims.layer == 0 ? std::vector{2, 3} : std::vector{4, 1});
  }
  return config;
}

// Every option of every part, in five layers: gate forms, biases, factors, partial rotation, MLPs with split
// and without gate, experts of both kinds of routers.
inline ModelConfig EveryPartConfig() {
  ModelConfig config;
  config.family = "every part";
  config.d_model = 32;
  config.vocab_size = config.token_count = 50;
  config.tied_head = false;
  config.embedding = {"embedding"};
  config.final_norm = {"final_norm.weight"};
  config.head = {"head"};
  config.embedding_factor = 1.5f;
  config.head_factor = 0.75f;
  const auto mixer = [&](int layer, GateForm form) {
    MixerDims dims = TinyMixer(/*groups=*/2, /*state_dim=*/6);
    dims.layer = layer;
    dims.gate_form = form;
    dims.in_bias = dims.out_bias = true;
    dims.factors = {.input = 1.25f, .z = 0.8f, .x = 1.2f, .b = 0.7f, .c = 1.4f, .dt = 0.9f, .output = 0.6f};
    dims.names.prefix = std::to_string(layer) + ".mixer.";
    return AddPart(dims, config);
  };
  const auto attention = [&](int layer, RopePairs pairs) {
    return AddPart(AttentionDims{.d_input = 32,
                                 .d_model = 32,
                                 .num_heads = 4,
                                 .num_kv_heads = 2,
                                 .head_dim = 8,
                                 .scale = 0.35f,
                                 .rope_theta = 10000.0,
                                 .rotated = 4,
                                 .rope_pairs = pairs,
                                 .bias = true,
                                 .out_bias = true,
                                 .in_factor = 1.3f,
                                 .key_factor = 0.7f,
                                 .out_factor = 0.9f,
                                 .names = {std::to_string(layer) + ".attention."}},
                   config);
  };
  const auto mlp = [&](int layer, Activation activation, bool joined) {
    return AddPart(MlpDims{.d_model = 32,
                           .width = 40,
                           .activation = activation,
                           .joined = joined,
                           .bias = true,
                           .gate_factor = joined ? 1.0f : 0.8f,
                           .down_factor = 1.1f,
                           .up_name = {.name = "up"},
                           .names = {std::to_string(layer) + ".mlp."}},
                   config);
  };
  const auto experts = [&](int layer, const RouterDims& router, Activation activation, int latent) {
    const bool joined = activation == Activation::kSilu && latent == 0;
    return AddPart(ExpertsDims{.d_model = 32,
                               .latent = latent,
                               .width = 12,
                               .router = router,
                               .activation = activation,
                               .joined = joined,
                               .stacked = joined,
                               .latent_bias = true,
                               .out_factor = 0.85f,
                               .router_name = {.name = "router"},
                               .correction_name = {.name = "correction"},
                               .gate_name = {.name = "gate"},
                               .up_name = {.name = "up"},
                               .down_name = {.name = "down"},
                               .names = {std::to_string(layer) + ".experts."}},
                   config);
  };
  const RouterDims softmax{.num_experts = 6, .num_chosen = 2};
  const RouterDims sigmoid{.num_experts = 8,
                           .num_chosen = 3,
                           .form = RouterForm::kSigmoid,
                           .correction = true,
                           .num_groups = 4,
                           .num_chosen_groups = 2,
                           .scaling = 2.5f};
  const auto step = [](const std::string& name, std::vector<PartRef> parts) {
    StepSpec spec;
    spec.norm = {name + "norm.weight"};
    spec.parts = std::move(parts);
    return spec;
  };
  config.layers.push_back({{step("0.", {mixer(0, GateForm::kNormThenGate), attention(0, RopePairs::kHalves)}),
                            step("0.post_", {mlp(0, Activation::kSilu, /*joined=*/false)})}});
  config.layers.push_back({{step("1.", {attention(1, RopePairs::kNeighbours)}),
                            step("1.post_", {mlp(1, Activation::kSilu, /*joined=*/true),
                                             experts(1, softmax, Activation::kSilu, /*latent=*/0)})}});
  config.layers.push_back({{step("2.", {mixer(2, GateForm::kGateOnly)})}});
  config.layers.push_back({{step("3.", {experts(3, sigmoid, Activation::kSquaredRelu, /*latent=*/10),
                                        mlp(3, Activation::kSquaredRelu, /*joined=*/false)})}});
  config.layers.push_back({{step(
      "4.", {mixer(4, GateForm::kGateThenNorm), experts(4, softmax, Activation::kSilu, /*latent=*/14)})}});
  return config;
}

}  // namespace ghost
