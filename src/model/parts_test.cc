// Parts in layers of every form: side by side on one norm, several steps per layer, layers without a mixer.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

#include "base/rng.h"
#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "model/backward.h"
#include "model/cost.h"
#include "model/runner.h"
#include "tensor/row_plan.h"
#include "tests/support/logits.h"
#include "tests/support/parallel_config.h"

namespace ghost {
namespace {

std::vector<float> Rows(ConstView rows) { return {rows.data, rows.data + rows.rows * rows.cols}; }

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b, float limit) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], limit) << i;
}

TEST(Parts, MixersHaveTheirOwnOrdinal) {
  const ModelConfig config = ParallelConfig();
  EXPECT_EQ(config.num_layers(), 3);
  EXPECT_EQ(config.num_steps(), 5);
  ASSERT_EQ(config.num_mixers(), 2);
  EXPECT_EQ(config.mixers[1].layer, 2);
  EXPECT_EQ(CacheWidths(config), (std::vector<int>{16, 16}));
  const Model model = MakeRandomModel(config, DType::kF32, 5);
  EXPECT_EQ(model.StepOfMixer(1).number, 4);
  EXPECT_EQ(model.StepOfMixer(1).layer, 2);
  EXPECT_EQ(model.steps()[0].parts.size(), 2u);
  EXPECT_EQ(model.steps()[2].mixer, nullptr);
  EXPECT_EQ(SsmStateBytes(config), 2 * 64 * 6 * 4);
  EXPECT_EQ(KeyValueBytes(config), 2 * 2 * 16 * 4);
}

TEST(Parts, LayersAreObservedOnceEach) {
  const Model model = MakeRandomModel(ParallelConfig(), DType::kF32, 5);
  const std::vector<int32_t> tokens = SomeTokens(4);
  const SequenceInput input{tokens};
  std::vector<int> seen;
  Runner(model).Forward({&input, 1}, [&](int layer, ConstView) { seen.push_back(layer); });
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3}));
}

class EveryParts : public testing::TestWithParam<ModelConfig (*)()> {};

TEST_P(EveryParts, StepByStepEqualsWholeAndABatchEqualsItsSequences) {
  const Model model = MakeRandomModel(GetParam()(), DType::kF32, 5);
  const std::vector<int32_t> tokens = SomeTokens(40);
  const std::vector<float> whole = RunPass(model, tokens).logits;
  Runner runner(model);
  SequenceState first(model.config()), second(model.config());
  std::vector<float> stepwise;
  for (size_t t = 0; t < tokens.size(); ++t) {
    // The second sequence is some tokens ahead, so that positions differ within a pass.
    const size_t ahead = t == 0 ? 4 : 1;
    const std::vector<SequenceInput> inputs = {
        {std::span(tokens).subspan(t, 1), &first},
        {std::span(tokens).subspan(t == 0 ? 0 : std::min(t + 3, tokens.size() - 1), ahead), &second}};
    const ConstView logits = runner.Logits(runner.Forward(inputs));
    stepwise.insert(stepwise.end(), logits.Row(0), logits.Row(0) + logits.cols);
  }
  ExpectClose(stepwise, whole, 1e-4f);
}

// With the output projection of attention zeroed, a step with both parts is the mixer's alone.
TEST(Parts, PartsOfAStepAddUpOnOneInput) {
  const ModelConfig config = ParallelConfig();
  const Model model = MakeRandomModel(config, DType::kF32, 5);
  const std::vector<int32_t> tokens = SomeTokens(12);
  const auto first_step = [&](bool mixer, bool attention) {
    ModelWeights weights = model.weights();
    const auto zero = [](Tensor& t) {
      t = MakeTensor(t.shape(), std::vector<float>(static_cast<size_t>(t.shape().NumElements()), 0.0f));
    };
    if (!mixer) zero(weights.mixers[0].out_proj);
    if (!attention) zero(weights.attentions[0].out);
    ModelConfig one = config;
    one.layers.resize(1);
    one.layers[0].steps.resize(1);
    const Model changed(one, weights);
    const SequenceInput input{tokens};
    std::vector<float> hidden;
    Runner(changed).Forward({&input, 1}, [&](int layer, ConstView rows) {
      if (layer == 0) hidden = Rows(rows);
    });
    return hidden;
  };
  const std::vector<float> none = first_step(false, false), both = first_step(true, true);
  const std::vector<float> mixer = first_step(true, false), attention = first_step(false, true);
  std::vector<float> sum = none;
  float apart = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] += (mixer[i] - none[i]) + (attention[i] - none[i]);
    apart = std::max(apart, std::fabs(attention[i] - none[i]));
  }
  ExpectClose(both, sum, 1e-5f);
  EXPECT_GT(apart, 1e-2f);
}

// The loss along a random direction of a tensor, against the gradient.
TEST_P(EveryParts, GradientsCrossEveryPart) {
  ModelConfig config = GetParam()();
  config.tied_head = false;
  const Model model = MakeRandomModel(config, DType::kF32, 7);
  const std::vector<int32_t> tokens = SomeTokens(48), targets = SomeTokens(49);
  const TokenBatch batch{tokens, std::span(targets).subspan(1), /*length=*/24};
  const auto expect = [&](const std::function<Tensor&(ModelWeights&)>& slot,
                          const std::function<View&(ModelGradients&)>& view, const char* what,
                          float step = 1e-4f) {
    ModelWeights weights = model.weights();
    const Tensor tensor = slot(weights);
    const std::vector<float> values = ToFloats(tensor);
    std::vector<float> direction(values.size()), gradient(values.size());
    Rng rng(3);
    for (float& v : direction) v = static_cast<float>(rng.Normal());
    const auto loss_at = [&](float way) {
      std::vector<float> moved = values;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += way * direction[i];
      slot(weights) = MakeTensor(tensor.shape(), moved);
      return BackwardPass(Model(config, weights)).Loss(batch);
    };
    const double difference = (loss_at(step) - loss_at(-step)) / (2.0 * step);
    ModelGradients gradients(config);
    view(gradients) = View(gradient.data(), tensor.shape()[0], tensor.shape()[1]);
    for (const KeepPolicy policy : {KeepPolicy::kInputs, KeepPolicy::kActivations}) {
      std::ranges::fill(gradient, 0.0f);
      BackwardPass(model, {}, policy).Run(batch, 1.0, gradients);
      double along = 0;
      for (size_t i = 0; i < gradient.size(); ++i) along += double{gradient[i]} * double{direction[i]};
      EXPECT_NEAR(along, difference, 5e-3 * std::fabs(difference)) << what;
    }
  };
  expect([](ModelWeights& w) -> Tensor& { return w.embedding; },
         [](ModelGradients& g) -> View& { return g.embedding; }, "embedding");
  expect([](ModelWeights& w) -> Tensor& { return w.mixers[0].in_proj; },
         [](ModelGradients& g) -> View& { return g.mixers[0].in_proj; }, "in_proj of the first mixer");
  if (!config.mixers[0].state_maps) return;
  expect([](ModelWeights& w) -> Tensor& { return w.mixers[0].b_map; },
         [](ModelGradients& g) -> View& { return g.mixers[0].b_map; }, "map of B", 3e-3f);
  expect([](ModelWeights& w) -> Tensor& { return w.mixers[0].c_map; },
         [](ModelGradients& g) -> View& { return g.mixers[0].c_map; }, "map of C", 3e-3f);
}

TEST_P(EveryParts, ThreadsChangeNoBit) {
  const Model model = MakeRandomModel(GetParam()(), DType::kF32, 5);
  const std::vector<int32_t> tokens = SomeTokens(40);
  SetThreads(1);
  const std::vector<float> one = RunPass(model, tokens).logits;
  SetThreads(4);
  EXPECT_EQ(RunPass(model, tokens).logits, one);
  SetThreads(0);
}

std::string NameOfParts(const testing::TestParamInfo<ModelConfig (*)()>& info) {
  constexpr const char* kNames[] = {"Parallel", "EveryPart", "Mapped"};
  return kNames[info.index];
}

INSTANTIATE_TEST_SUITE_P(Configs, EveryParts, testing::Values(ParallelConfig, EveryPartConfig, MappedConfig),
                         NameOfParts);

// The recurrence over mapped B and C is that of a model without maps whose B' and C' are the mapped ones:
// here maps that pick channels, so that dropping the others from the weights gives the same.
TEST(Parts, MapsThatPickChannelsDropTheOthers) {
  const ModelConfig config = MappedConfig();
  const Model dense = MakeRandomModel(ParallelConfig(), DType::kF32, 5);
  ModelWeights weights = dense.weights();
  ModelConfig plain = ParallelConfig();
  ModelWeights dropped = dense.weights();
  for (size_t i = 0; i < config.mixers.size(); ++i) {
    const MixerDims& d = config.mixers[i];
    const int64_t N = d.input_group_size();
    std::vector<float> map(static_cast<size_t>(d.state_channels() * N), 0.0f);
    std::vector<int> channels;  // picked, over all groups
    for (int g = 0; g < d.num_groups(); ++g) {
      for (int r = 0; r < d.group_size(g); ++r) {
        const int64_t from = (2 * r + g) % N;
        map[static_cast<size_t>((d.state_begin[static_cast<size_t>(g)] + r) * N + from)] = 1.0f;
        channels.push_back(static_cast<int>(g * N + from));
      }
    }
    weights.mixers[i].b_map = weights.mixers[i].c_map = MakeTensor(Shape{d.state_channels(), N}, map);
    plain.mixers[i].SetGroups(d.state_begin);
    RowPlan in_proj, conv;
    const auto keep = [](RowPlan& plan, int begin, int end) {
      for (int row = begin; row < end; ++row) plan.push_back(row);
    };
    keep(in_proj, 0, d.b_row()), keep(conv, 0, d.conv_b());
    for (const int channel : channels)
      in_proj.push_back(d.b_row() + channel), conv.push_back(d.conv_b() + channel);
    for (const int channel : channels)
      in_proj.push_back(d.c_row() + channel), conv.push_back(d.conv_c() + channel);
    keep(in_proj, d.dt_row(), d.in_proj_rows());
    MixerWeights& w = dropped.mixers[i];
    w.in_proj = GatherRows(w.in_proj, in_proj);
    w.conv = GatherRows(w.conv, conv), w.conv_bias = GatherRows(w.conv_bias, conv);
  }
  const std::vector<int32_t> tokens = SomeTokens(30);
  ExpectClose(RunPass(Model(config, weights), tokens).logits, RunPass(Model(plain, dropped), tokens).logits,
              1e-5f);
}

// A model with factors is the same model with these factors in its weights and biases.
TEST(Parts, FactorsAreWeights) {
  const ModelConfig config = EveryPartConfig();
  const Model model = MakeRandomModel(config, DType::kF32, 5);
  const auto scale = [](Tensor& t, float factor, int64_t first, int64_t count) {
    std::vector<float> values = ToFloats(t);
    const int64_t width = t.num_elements() / t.shape()[0];
    for (int64_t i = first * width; i < (first + count) * width; ++i)
      values[static_cast<size_t>(i)] *= factor;
    t = MakeTensor(t.shape(), values);
  };
  const auto all = [&](Tensor& t, float factor) { scale(t, factor, 0, t.shape()[0]); };
  ModelConfig plain = config;
  ModelWeights w = model.weights();
  all(w.embedding, config.embedding_factor), all(w.head, config.head_factor);
  plain.embedding_factor = plain.head_factor = 1.0f;
  for (size_t i = 0; i < w.mixers.size(); ++i) {
    MixerDims& d = plain.mixers[i];
    const MixerFactors f = std::exchange(d.factors, {});
    const int rows[] = {d.z_row(), d.x_row(), d.b_row(), d.c_row(), d.dt_row(), d.in_proj_rows()};
    const float blocks[] = {f.z, f.x, f.b, f.c, f.dt};
    for (int b = 0; b < 5; ++b) {
      scale(w.mixers[i].in_proj, f.input * blocks[b], rows[b], rows[b + 1] - rows[b]);
      scale(w.mixers[i].in_proj_bias, blocks[b], rows[b], rows[b + 1] - rows[b]);
    }
    all(w.mixers[i].out_proj, f.output), all(w.mixers[i].out_proj_bias, f.output);
  }
  for (size_t i = 0; i < w.attentions.size(); ++i) {
    AttentionDims& d = plain.attentions[i];
    AttentionWeights& a = w.attentions[i];
    all(a.q, d.in_factor), all(a.k, d.in_factor * d.key_factor), all(a.v, d.in_factor);
    all(a.k_bias, d.key_factor), all(a.out, d.out_factor), all(a.out_bias, d.out_factor);
    d.in_factor = d.key_factor = d.out_factor = 1.0f;
  }
  for (size_t i = 0; i < w.mlps.size(); ++i) {
    MlpDims& d = plain.mlps[i];
    if (!w.mlps[i].gate.empty()) all(w.mlps[i].gate, d.gate_factor), all(w.mlps[i].gate_bias, d.gate_factor);
    all(w.mlps[i].down, d.down_factor), all(w.mlps[i].down_bias, d.down_factor);
    d.gate_factor = d.down_factor = 1.0f;
  }
  for (size_t i = 0; i < w.experts.size(); ++i) {
    ExpertsDims& d = plain.experts[i];
    if (d.latent > 0) {
      all(w.experts[i].latent_out, d.out_factor), all(w.experts[i].latent_out_bias, d.out_factor);
    } else {
      for (Tensor& t : w.experts[i].down) all(t, d.out_factor);
    }
    d.out_factor = 1.0f;
  }
  const std::vector<int32_t> tokens = SomeTokens(30);
  ExpectClose(RunPass(Model(plain, w), tokens).logits, RunPass(model, tokens).logits, 1e-4f);
}

}  // namespace
}  // namespace ghost
