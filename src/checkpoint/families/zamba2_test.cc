// Zamba2: its configurations, where its shared tensors may be stored, and the caches of its shared blocks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/rng.h"
#include "checkpoint/bind.h"
#include "checkpoint/families/zamba2.h"
#include "checkpoint/family.h"
#include "checkpoint/random_model.h"
#include "model/backward.h"
#include "model/cost.h"
#include "model/runner.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

ModelConfig Parse(const std::string& text) {
  return ParseConfig(ParseJson(text, "config.json"), "config.json");
}

std::vector<int> HybridLayers(const ModelConfig& config) {
  std::vector<int> layers;
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    if (config.layers[static_cast<size_t>(layer)].steps[0].shared_use != kNoSharedUse)
      layers.push_back(layer);
  }
  return layers;
}

TEST(Zamba2Config, DefaultsAreTheLibrarys) {
  const ModelConfig c = Parse(R"({"model_type": "zamba2", "n_mamba_heads": 80})");
  EXPECT_EQ(c.family, "zamba2");
  EXPECT_EQ(c.mixers[0].in_proj_rows(), 10448);  // Zamba2-2.7B
  EXPECT_EQ(c.mixers[0].conv_channels(), 5248);
  EXPECT_EQ(HybridLayers(c), (std::vector<int>{6, 12, 18, 24, 30, 36, 42, 47, 51}));
  EXPECT_EQ(c.shared_blocks[0].attention.head_dim, 160);
  EXPECT_EQ(c.shared_blocks[0].mlp.width, 10240);
  EXPECT_EQ(c.shared_blocks[0].attention.rope_theta, 0.0);
  EXPECT_TRUE(c.tied_head);
  EXPECT_EQ(c.mixers[0].dt_min, 0.0f);  // as trained, whatever time_step_min says
}

TEST(Zamba2Config, OldAndNewSpellingsMeanTheSame) {
  const ModelConfig now = Parse(R"({"model_type": "zamba2", "hidden_size": 64, "num_hidden_layers": 3,
      "layers_block_type": ["linear_attention", "hybrid", "hybrid"], "n_mamba_heads": 4, "mamba_d_state": 24,
      "mamba_d_conv": 3, "mamba_expand": 2, "intermediate_size": 96, "adapter_rank": 8, "num_attention_heads": 4,
      "num_mem_blocks": 2, "use_shared_attention_adapter": true, "use_mem_rope": true,
      "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}})");
  const ModelConfig old = Parse(R"({"model_type": "zamba2", "hidden_size": 64, "num_hidden_layers": 3,
      "hybrid_layer_ids": [1, 2], "mamba_headdim": 32, "state_size": 24,
      "conv_dimension": 3, "expansion_factor": 2, "ffn_hidden_size": 96, "lora_rank": 8, "num_attention_heads": 4,
      "num_mem_blocks": 2, "use_shared_attention_lora": true, "use_mem_rope": true, "rope_theta": 500})");
  for (const ModelConfig& c : {now, old, Parse(MakeHuggingFaceConfig(now).dump())}) {
    EXPECT_EQ(HybridLayers(c), (std::vector<int>{1, 2}));
    EXPECT_EQ(c.mixers[0].num_heads, 4);
    EXPECT_EQ(c.mixers[0].head_dim, 32);
    EXPECT_EQ(c.mixers[0].state_channels(), 24);
    EXPECT_EQ(c.mixers[0].conv_width, 3);
    ASSERT_EQ(c.shared_blocks.size(), 2u);
    EXPECT_EQ(c.shared_blocks[1].mlp.width, 96);
    EXPECT_EQ(c.shared_blocks[1].attention.rope_theta, 500.0);
    EXPECT_EQ(c.shared_uses[1].block, 1);
    EXPECT_EQ(c.shared_uses[1].adapter_rank, 8);
    EXPECT_TRUE(c.shared_uses[1].attention_adapters);
  }
}

struct BadZamba2 {
  const char* name;
  const char* fields;  // after the model type
  ErrorKind kind;
  const char* mentions;
};
class BadZamba2Test : public testing::TestWithParam<BadZamba2> {};

TEST_P(BadZamba2Test, IsRefusedAndNamed) {
  try {
    Parse(std::string(R"({"model_type": "zamba2", "n_mamba_heads": 80, )") + GetParam().fields + "}");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), GetParam().kind) << e.what();
    EXPECT_NE(std::string(e.what()).find(GetParam().mentions), std::string::npos) << e.what();
  }
}

constexpr ErrorKind kCorrupt = ErrorKind::kCorrupt, kUnsupported = ErrorKind::kUnsupported;
INSTANTIATE_TEST_SUITE_P(
    Table, BadZamba2Test,
    testing::Values(
        BadZamba2{"heads", R"("mamba_headdim": 63, "num_attention_heads": 33)", kCorrupt,
                  "num_attention_heads"},
        BadZamba2{"kv_heads", R"("num_key_value_heads": 5)", kCorrupt, "num_key_value_heads"},
        BadZamba2{"kind", R"("num_hidden_layers": 1, "layers_block_type": ["moe"])", kUnsupported, "moe"},
        BadZamba2{"kinds", R"("layers_block_type": ["mamba"])", kCorrupt, "54"},
        BadZamba2{"kinds_text", R"("layers_block_type": "mamba")", kCorrupt, "layers_block_type"},
        BadZamba2{"ids_order", R"("hybrid_layer_ids": [5, 5])", kCorrupt, "hybrid_layer_ids"},
        BadZamba2{"ids_range", R"("hybrid_layer_ids": [54])", kCorrupt, "hybrid_layer_ids"},
        BadZamba2{"ids_negative", R"("hybrid_layer_ids": [-1])", kCorrupt, "hybrid_layer_ids"},
        BadZamba2{"no_kinds", R"("num_hidden_layers": 3)", kCorrupt, "layers_block_type"},
        BadZamba2{"activation", R"("hidden_act": "relu")", kUnsupported, "relu"},
        BadZamba2{"long_context", R"("use_mem_rope": true, "use_long_context": true)", kUnsupported,
                  "use_long_context"},
        BadZamba2{"scaled_rope", R"("use_mem_rope": true, "rope_parameters": {"rope_type": "yarn"})",
                  kUnsupported, "yarn"},
        BadZamba2{"theta", R"("use_mem_rope": true, "rope_theta": 0)", kCorrupt, "rope_theta"},
        BadZamba2{"rank", R"("adapter_rank": 0)", kCorrupt, "adapter_rank"},
        BadZamba2{"mlp", R"("intermediate_size": 100000000)", kCorrupt, "intermediate_size"},
        BadZamba2{"eps", R"("rms_norm_eps": NaN)", kCorrupt, "rms_norm_eps"}),
    [](const auto& test) { return std::string(test.param.name); });

TensorSet RandomSet(const ModelConfig& config) {
  TensorSet set;
  for (auto& [name, tensor] : MakeRandomTensors(config, DType::kF32, 5)) set.tensors[name] = {tensor, "file"};
  return set;
}

// TinyHybrid: layers 1, 2 and 4 are hybrid and take turns with two blocks, so 1 and 4 share one.
const std::string kFirst = "model.layers.1.shared_transformer.",
                  kAgain = "model.layers.4.shared_transformer.";

TEST(Zamba2Weights, SharedTensorsMayBeStoredUnderAnyLayerThatUsesThem) {
  const ModelConfig config = TinyHybrid();
  const std::vector<std::string> shared = {"self_attn.q_proj.weight", "feed_forward.gate_up_proj.weight",
                                           "feed_forward.gate_up_proj_adapter_list.2.0.weight"};
  TensorSet moved = RandomSet(config), repeated = moved;
  for (const std::string& name : shared) {
    repeated.tensors[kAgain + name] = repeated.tensors.at(kFirst + name);
    auto node = moved.tensors.extract(kFirst + name);
    node.key() = kAgain + name;
    moved.tensors.insert(std::move(node));
  }
  for (const TensorSet* set : {&moved, &repeated}) {
    const ModelWeights weights = BindWeights(*set, config, "file");
    EXPECT_EQ(weights.shared_blocks[0].attention.q.data(), set->tensors.at(kAgain + shared[0]).tensor.data());
    EXPECT_EQ(weights.shared_uses[2].gate_up.down.data(), set->tensors.at(kAgain + shared[2]).tensor.data());
  }
}

TEST(Zamba2Weights, RepeatedTensorsThatDifferAreRefused) {
  const ModelConfig config = TinyHybrid();
  TensorSet set = RandomSet(config);
  const std::string name = "self_attn.o_proj.weight";
  set.tensors[kAgain + name] = set.tensors.at("model.layers.2.shared_transformer." + name);
  try {
    BindWeights(set, config, "file");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
    EXPECT_NE(std::string(e.what()).find(kAgain + name), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(kFirst + name), std::string::npos) << e.what();
  }
}

std::vector<float> Rows(ConstView rows) { return {rows.data, rows.data + rows.rows * rows.cols}; }

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4f) << i;
}

std::vector<int32_t> SomeTokens(int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(i * 7919 % 50));
  return tokens;
}

// Keys and values go with the state: copied, started from, cleared.
TEST(Zamba2State, CarriesKeysAndValues) {
  const Model model = MakeRandomModel(TinyHybrid(), DType::kF32, 5);
  Runner runner(model);
  const std::vector<int32_t> tokens = SomeTokens(150);  // beyond the cache's first size
  const std::span<const int32_t> all(tokens), before = all.first(100), after = all.subspan(100);
  SequenceState whole(model.config()), start(model.config()), copy(model.config());
  const SequenceInput everything{all, &whole};
  const ConstView hidden = runner.Forward({&everything, 1});
  const std::vector<float> expected = Rows(runner.Logits(hidden.Rows(100, 50)));
  EXPECT_EQ(whole.cache(2).tokens(), 150);

  runner.PrefillLogits(before, start);
  copy.CopyFrom(start);
  const SequenceInput passing{after, nullptr, &start}, own{after, &copy};
  ExpectClose(Rows(runner.Logits(runner.Forward({&passing, 1}))), expected);
  EXPECT_EQ(start.cache(0).tokens(), 100);  // as it was
  ExpectClose(Rows(runner.Logits(runner.Forward({&own, 1}))), expected);
  EXPECT_EQ(copy.cache(0).tokens(), 150);
  copy.Reset();
  EXPECT_EQ(copy.cache(0).tokens(), 0);
  const SequenceInput again{all, &copy};
  ExpectClose(Rows(runner.Logits(runner.Forward({&again, 1}).Rows(100, 50))), expected);
  EXPECT_GT(whole.bytes(), SequenceState(model.config()).bytes());
}

// The embeddings reach the loss through the first layer and through every shared block.
TEST(Zamba2Backward, EmbeddingGradientEqualsADifference) {
  ModelConfig config = TinyHybrid();
  config.tied_head = false;
  const std::vector<int32_t> tokens = SomeTokens(48), targets = SomeTokens(49);
  const TokenBatch batch{tokens, std::span(targets).subspan(1), /*length=*/24};
  TensorSet set = RandomSet(config);
  const Tensor embedding = set.tensors.at("model.embed_tokens.weight").tensor;
  const std::vector<float> values = ToFloats(embedding);
  std::vector<float> direction(values.size());
  Rng rng(3);
  for (float& v : direction) v = static_cast<float>(rng.Normal());
  const auto loss_at = [&](float step) {
    std::vector<float> moved = values;
    for (size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
    set.tensors.at("model.embed_tokens.weight").tensor = MakeTensor(embedding.shape(), moved);
    const Model model(config, BindWeights(set, config, "file"));
    return BackwardPass(model).Loss(batch);
  };
  constexpr float kStep = 1e-4f;  // ten times that and the third derivative shows: 7 %
  const double difference = (loss_at(kStep) - loss_at(-kStep)) / (2.0 * kStep);

  loss_at(0);  // puts the values back
  const Model model(config, BindWeights(set, config, "file"));
  std::vector<float> gradient(values.size(), 0.0f);
  ModelGradients gradients(config);
  gradients.embedding = View(gradient.data(), config.vocab_size, config.d_model);
  for (const KeepPolicy policy : {KeepPolicy::kInputs, KeepPolicy::kActivations}) {
    std::ranges::fill(gradient, 0.0f);
    BackwardPass(model, {}, policy).Run(batch, 1.0, gradients);
    double along = 0;
    for (size_t i = 0; i < gradient.size(); ++i) along += double{gradient[i]} * double{direction[i]};
    EXPECT_NEAR(along, difference, 2e-3 * std::fabs(difference));
  }
}

TEST(Zamba2Cost, CountsSharedBlocksOncePerUse) {
  const Model model = MakeRandomModel(TinyHybrid(), DType::kF32, 5);
  int64_t shared = 0;
  ForEachTensor(model.weights().shared_blocks[0], model.config().shared_blocks[0],
                [&](const Tensor& t, const TensorRow&) { shared += static_cast<int64_t>(t.num_bytes()); });
  // Three uses of two blocks of one size.
  EXPECT_EQ(CostOfPass(model, 1, 1, 1).weight_bytes, static_cast<double>(WeightBytes(model) + shared));
  EXPECT_EQ(KeyValueBytes(model.config()), 2 * 3 * 32 * 4);
  EXPECT_EQ(CountParameters(ReleasedConfig("zamba2-1.2b")) / 10'000'000, 121);  // 1.22 billion, says its card
}

}  // namespace
}  // namespace ghost
