// The float64 reference against finite differences, and BackwardPass against the reference.
#include "model/backward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "kernels/rows/softmax_backward.h"
#include "tests/support/reference_model.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

ModelConfig SmallConfig() {
  ModelConfig config = TinyConfig(2, 3, /*vocab_size=*/11);
  config.d_model = 6;
  for (MixerDims& dims : config.mixers) {
    dims.in_bias = dims.out_bias = true;
    dims.d_model = 6;
    dims.num_heads = 4;
    dims.head_dim = 3;
  }
  return config;
}

void SetClamp(ModelConfig& config, float low, float high) {
  ForEachMixer(config, [&](MixerDims& d) { d.dt_min = low, d.dt_max = high; });
}

DoubleMatrix RandomMatrix(int64_t rows, int64_t cols, uint64_t seed) {
  Rng rng(seed);
  DoubleMatrix matrix(rows, cols);
  for (double& v : matrix.values) v = rng.Normal();
  return matrix;
}

// A loss that weighs every output of the block.
double Weighted(const ReferenceBlock& block, const DoubleMatrix& u, const DoubleMatrix& weights) {
  const DoubleMatrix out = block.Forward(u).out;
  double sum = 0;
  for (size_t i = 0; i < out.values.size(); ++i) sum += out.values[i] * weights.values[i];
  return sum;
}

// Central differences of `loss` by every one of `values`, against the analytic gradient.
template <class Loss>
void ExpectDifferences(std::vector<double>& values, const std::vector<double>& gradient, const Loss& loss) {
  constexpr double kStep = 1e-6, kLimit = 1e-7;
  ASSERT_EQ(values.size(), gradient.size());
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double kept = values[i];
    values[i] = kept + kStep;
    const double above = loss();
    values[i] = kept - kStep;
    const double below = loss();
    values[i] = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), kLimit) << i;
    largest = std::max(largest, std::fabs(gradient[i]));
  }
  EXPECT_GT(largest, 1e-3);  // there was something to compare
}

TEST(ReferenceBlock, EveryGradientEqualsCentralDifferences) {
  for (const bool clamp : {false, true}) {
    ModelConfig config = SmallConfig();
    if (clamp) SetClamp(config, 0.01f, 0.05f);
    const Model model = MakeRandomModel(config, DType::kF32, 5);
    ReferenceBlock block(model.steps()[0]);
    ASSERT_EQ(block.norm_groups, 2);
    DoubleMatrix u = RandomMatrix(9, 6, 1);
    const DoubleMatrix weights = RandomMatrix(9, 6, 2);
    const ReferenceBlock::Gradients gradients = block.Backward(block.Forward(u), weights);
    const auto loss = [&] { return Weighted(block, u, weights); };
    ExpectDifferences(u.values, gradients.u.values, loss);
    ExpectDifferences(block.in_proj.values, gradients.in_proj.values, loss);
    ExpectDifferences(block.conv_taps, gradients.conv_taps, loss);
    ExpectDifferences(block.conv_bias, gradients.conv_bias, loss);
    ExpectDifferences(block.a, gradients.a, loss);
    ExpectDifferences(block.d, gradients.d, loss);
    ExpectDifferences(block.norm, gradients.norm, loss);
    ExpectDifferences(block.in_proj_bias, gradients.in_proj_bias, loss);
    ExpectDifferences(block.dt_bias, gradients.dt_bias, loss);
    ExpectDifferences(block.gate_norm, gradients.gate_norm, loss);
    ExpectDifferences(block.out_proj.values, gradients.out_proj.values, loss);
    ExpectDifferences(block.out_proj_bias, gradients.out_proj_bias, loss);
  }
}

void ExpectClose(const std::vector<double>& expected, ConstView actual, double scale, const char* what) {
  ASSERT_EQ(static_cast<int64_t>(expected.size()), actual.rows * actual.cols) << what;
  double largest = 0, worst = 0;
  for (int64_t r = 0; r < actual.rows; ++r) {
    for (int64_t c = 0; c < actual.cols; ++c) {
      const double value = scale * expected[static_cast<size_t>(r * actual.cols + c)];
      largest = std::max(largest, std::fabs(value));
      worst = std::max(worst, std::fabs(value - actual.Row(r)[c]));
    }
  }
  EXPECT_LE(worst, 2e-5 * largest) << what;
  EXPECT_GT(largest, 0) << what;
}

void ExpectMatchesReference(const ModelConfig& config, DType dtype, int64_t length) {
  const Model model = MakeRandomModel(config, dtype, 9);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back(static_cast<int32_t>(i * 7919 % config.vocab_size));
  std::vector<int32_t> targets(tokens.begin() + 1, tokens.end());
  targets.push_back(kNoTarget);
  const ReferenceModel::Gradients expected = ReferenceModel(model).Backward({tokens, targets, length});
  const double scale = 1.0 / static_cast<double>(length - 1);
  BackwardPass pass(model);
  int calls = 0;
  const double loss = pass.Run(tokens, scale, [&](int layer, const MixerGradients& gradients) {
    SCOPED_TRACE(layer);
    const ReferenceBlock::Gradients& want = expected.layers[static_cast<size_t>(layer)];
    EXPECT_EQ(gradients.first_row, 0);
    ExpectClose(want.in_proj.values, gradients.in_proj, scale, "in_proj");
    ExpectClose(want.conv_taps, gradients.conv, scale, "conv");
    if (config.mixers[0].conv_bias) {
      ExpectClose(want.conv_bias, gradients.conv_bias, scale, "conv_bias");
    } else {
      EXPECT_EQ(gradients.conv_bias.rows, 0);
    }
    ++calls;
  });
  EXPECT_EQ(calls, config.num_layers());
  EXPECT_NEAR(loss, expected.loss, 1e-5 * static_cast<double>(length));
}

TEST(BackwardPass, MatchesTheFloat64Reference) {
  ExpectMatchesReference(TinyConfig(1, 16), DType::kF32, 70);
  ExpectMatchesReference(TinyConfig(2, 61), DType::kBF16, 130);
  ExpectMatchesReference(SmallConfig(), DType::kF16, 2);
  ModelConfig config = TinyConfig(4, 7);
  ForEachMixer(config, [](MixerDims& d) {
    d.conv_bias = false;
    d.in_bias = d.out_bias = true;
    d.norm_grouping = NormGrouping::kFull;
  });
  SetClamp(config, 0.003f, 0.03f);
  ExpectMatchesReference(config, DType::kF32, 65);
}

// A batch of `count` sequences, some positions without a target.
struct OwnedBatch {
  OwnedBatch(int count, int64_t length, int vocab_size) {
    Rng rng(17);
    for (int64_t i = 0; i < count * length; ++i) {
      const auto draw = [&] { return static_cast<int32_t>(rng.Bits() % static_cast<uint64_t>(vocab_size)); };
      tokens.push_back(draw());
      targets.push_back(i % 5 == 3 ? kNoTarget : draw());
    }
    batch = {tokens, targets, length};
  }
  std::vector<int32_t> tokens, targets;
  TokenBatch batch;
};

// Every gradient of a model behind one pointer per element, in the order of the table.
struct OwnedGradients {
  explicit OwnedGradients(const ModelConfig& config) : views(config) {
    ForEachTensor(views, config, [&](View& slot, const TensorRow& row) {
      const int64_t rows = row.shape.rank() == 1 ? 1 : row.shape[0];
      memory.emplace_back(static_cast<size_t>(row.shape.NumElements()), 0.0f);
      slot = View(memory.back().data(), rows, row.shape.NumElements() / rows);
    });
    if (config.tied_head) views.head = views.embedding;
  }
  std::vector<std::vector<float>> memory;
  ModelGradients views;
};

std::vector<double> LogGradient(const std::vector<double>& da, const std::vector<double>& a) {
  std::vector<double> result;
  for (size_t h = 0; h < a.size(); ++h) result.push_back(da[h] * a[h]);
  return result;
}

void ExpectTrainingGradients(const ModelConfig& config, int count, int64_t length, KeepPolicy policy) {
  const Model model = MakeRandomModel(config, DType::kF32, 21);
  const OwnedBatch owned(count, length, config.vocab_size);
  const ReferenceModel reference(model);
  const ReferenceModel::Gradients want = reference.Backward(owned.batch);
  const double scale = 0.25;
  OwnedGradients actual(config);
  BackwardPass pass(model, {}, policy);
  EXPECT_NEAR(pass.Run(owned.batch, scale, actual.views), want.loss, 1e-5 * want.loss);
  EXPECT_NEAR(pass.Loss(owned.batch), want.loss, 1e-5 * want.loss);
  ExpectClose(want.embedding.values, actual.views.embedding, scale, "embedding");
  if (!config.tied_head) ExpectClose(want.head.values, actual.views.head, scale, "head");
  ExpectClose(want.final_norm, actual.views.final_norm, scale, "final_norm");
  for (size_t layer = 0; layer < config.mixers.size(); ++layer) {
    SCOPED_TRACE(layer);
    const ReferenceBlock::Gradients& w = want.layers[layer];
    const MixerGradients& g = actual.views.mixers[layer];
    ExpectClose(w.norm, actual.views.norms[layer], scale, "norm");
    ExpectClose(w.in_proj.values, g.in_proj, scale, "in_proj");
    if (config.mixers[layer].in_bias) ExpectClose(w.in_proj_bias, g.in_proj_bias, scale, "in_proj_bias");
    ExpectClose(w.conv_taps, g.conv, scale, "conv");
    if (config.mixers[layer].conv_bias) ExpectClose(w.conv_bias, g.conv_bias, scale, "conv_bias");
    ExpectClose(w.dt_bias, g.dt_bias, scale, "dt_bias");
    ExpectClose(LogGradient(w.a, reference.blocks[layer].a), g.a_log, scale, "a_log");
    ExpectClose(w.d, g.d, scale, "d");
    ExpectClose(w.gate_norm, g.gate_norm, scale, "gate_norm");
    ExpectClose(w.out_proj.values, g.out_proj, scale, "out_proj");
    if (config.mixers[layer].out_bias) ExpectClose(w.out_proj_bias, g.out_proj_bias, scale, "out_proj_bias");
  }
}

TEST(ReferenceModel, EveryGradientEqualsCentralDifferences) {
  for (const bool tied : {true, false}) {
    ModelConfig config = SmallConfig();
    config.tied_head = tied;
    ReferenceModel model(MakeRandomModel(config, DType::kF32, 8));
    const OwnedBatch owned(2, 6, config.vocab_size);
    const ReferenceModel::Gradients g = model.Backward(owned.batch);
    const auto loss = [&] { return model.Loss(owned.batch); };
    EXPECT_NEAR(g.loss, loss(), 1e-12);
    ExpectDifferences(model.embedding.values, g.embedding.values, loss);
    if (!tied) ExpectDifferences(model.head.values, g.head.values, loss);
    ExpectDifferences(model.final_norm, g.final_norm, loss);
    ExpectDifferences(model.blocks[0].in_proj.values, g.layers[0].in_proj.values, loss);
    ExpectDifferences(model.blocks[1].out_proj.values, g.layers[1].out_proj.values, loss);
    ExpectDifferences(model.blocks[0].a, g.layers[0].a, loss);
    ExpectDifferences(model.blocks[1].norm, g.layers[1].norm, loss);
  }
}

TEST(BackwardPass, EveryGradientOfABatchMatchesTheFloat64Reference) {
  for (const KeepPolicy policy : {KeepPolicy::kInputs, KeepPolicy::kActivations}) {
    for (const int groups : {1, 2, 4}) {
      for (const NormGrouping grouping : {NormGrouping::kGrouped, NormGrouping::kFull}) {
        SCOPED_TRACE(groups);
        ModelConfig config = TinyConfig(groups, 13);
        config.tied_head = groups != 2;
        ForEachMixer(config, [&](MixerDims& d) {
          d.in_bias = d.out_bias = groups == 2;
          d.conv_bias = groups != 4;
          d.norm_grouping = grouping;
        });
        if (groups == 4) SetClamp(config, 0.003f, 0.03f);
        ExpectTrainingGradients(config, 3, 70, policy);
      }
    }
  }
}

TEST(BackwardPass, ABatchIsTheSumOfItsSequencesAndThreadsChangeNothing) {
  const ModelConfig config = TinyConfig(2, 16);
  const Model model = MakeRandomModel(config, DType::kF32, 3);
  const OwnedBatch owned(4, 66, config.vocab_size);
  BackwardPass pass(model, {}, KeepPolicy::kActivations);
  OwnedGradients whole(config), sum(config);
  const double loss = pass.Run(owned.batch, 1.0, whole.views);
  double parts = 0;
  for (size_t s = 0; s < 4; ++s) {
    const std::span<const int32_t> tokens(owned.tokens), targets(owned.targets);
    parts += pass.Run({tokens.subspan(s * 66, 66), targets.subspan(s * 66, 66), 66}, 1.0, sum.views);
  }
  EXPECT_NEAR(loss, parts, 1e-6 * loss);
  for (size_t i = 0; i < whole.memory.size(); ++i) {
    double largest = 0, worst = 0;
    for (size_t k = 0; k < whole.memory[i].size(); ++k) {
      largest = std::max(largest, std::fabs(double{whole.memory[i][k]}));
      worst = std::max(worst, std::fabs(double{whole.memory[i][k]} - sum.memory[i][k]));
    }
    EXPECT_LE(worst, 1e-5 * largest) << i;
  }
  for (const int threads : {1, 2, 4}) {
    SetThreads(threads);
    OwnedGradients again(config);
    EXPECT_EQ(pass.Run(owned.batch, 1.0, again.views), loss);
    EXPECT_EQ(again.memory, whole.memory) << threads;
  }
  SetThreads(0);
}

TEST(BackwardPass, LayersAndGroupsMayHaveDifferentStateSizes) {
  ModelConfig config = TinyConfig(2, 16);
  config.mixers[0].SetGroups({0, 5, 12});
  config.mixers[1].SetGroups({0, 0, 9});
  ExpectMatchesReference(config, DType::kF32, 100);
}

TEST(BackwardPass, StateRowsAloneAreTheSameRows) {
  const Model model = MakeRandomModel(TinyConfig(2, 9), DType::kF32, 4);
  const std::vector<int32_t> long_sample(90, 3), sample = {1, 5, 2, 2, 40, 49, 0};
  BackwardPass all(model), rows(model, {.in_proj = InProjRows::kState, .conv = false});
  std::vector<float> expected;
  all.Run(sample, 0.5, [&](int layer, const MixerGradients& gradients) {
    const MixerDims& dims = model.config().mixers[static_cast<size_t>(layer)];
    const ConstView part = gradients.in_proj.Rows(dims.b_row(), 2 * dims.input_channels());
    expected.insert(expected.end(), part.data, part.data + part.rows * part.cols);
  });
  rows.Run(long_sample, 1.0, [](int, const MixerGradients&) {});  // leaves nothing behind
  size_t at = 0;
  rows.Run(sample, 0.5, [&](int layer, const MixerGradients& gradients) {
    EXPECT_EQ(gradients.first_row, model.config().mixers[static_cast<size_t>(layer)].b_row());
    EXPECT_EQ(gradients.conv.rows, 0);
    for (int64_t i = 0; i < gradients.in_proj.rows * gradients.in_proj.cols; ++i) {
      ASSERT_NEAR(gradients.in_proj.data[i], expected[at++], 1e-7);
    }
  });
  EXPECT_EQ(at, expected.size());
}

TEST(BackwardPass, BadSamplesAreRefused) {
  const Model model = MakeRandomModel(TinyConfig(1, 4), DType::kF32, 4);
  BackwardPass pass(model);
  const auto sink = [](int, const MixerGradients&) {};
  for (const std::vector<int32_t>& tokens : std::vector<std::vector<int32_t>>{{}, {1}, {1, 50}, {-1, 2}}) {
    EXPECT_THROW(pass.Run(tokens, 1.0, sink), Error);
  }
}

// The loss of a batch with a teacher, from both models' logits.
double TaughtLoss(const Model& model, const Model& teacher, const TokenBatch& batch, float weight) {
  Runner runner(model), other(teacher);
  double loss = 0;
  const auto L = static_cast<size_t>(batch.length);
  for (size_t begin = 0; begin < batch.tokens.size(); begin += L) {
    const SequenceInput input{.tokens = batch.tokens.subspan(begin, L)};
    const ConstView logits = runner.Logits(runner.Forward({&input, 1}));
    const ConstView wanted = other.Logits(other.Forward({&input, 1}));
    for (size_t t = 0; t < L; ++t) {
      if (batch.targets[begin + t] == kNoTarget) continue;
      const auto row = static_cast<int64_t>(t);
      std::vector<float> values(logits.Row(row), logits.Row(row) + logits.cols);
      const std::span<const float> q(wanted.Row(row), values.size());
      loss += DistillationBackwardRef(values, q, batch.targets[begin + t], weight, 1.0f);
    }
  }
  return loss;
}

// The loss is linear in the weight, and so are its gradients.
TEST(BackwardPass, ATeacherAddsItsShareToLossAndGradients) {
  const ModelConfig config = TinyConfig(2, 16), larger = TinyConfig(1, 24);
  const Model model = MakeRandomModel(config, DType::kF32, 3),
              teacher = MakeRandomModel(larger, DType::kBF16, 4);
  const OwnedBatch owned(3, 66, config.vocab_size);
  BackwardPass pass(model, {}, KeepPolicy::kActivations);
  OwnedGradients plain(config), taught(config), mixed(config);
  const double alone = pass.Run(owned.batch, 0.5, plain.views);
  pass.LearnFrom(teacher, 1.0);
  EXPECT_NEAR(pass.Run(owned.batch, 0.5, taught.views), TaughtLoss(model, teacher, owned.batch, 1.0f), 1e-3);
  EXPECT_NEAR(pass.Loss(owned.batch), alone, 1e-6 * alone);  // of the text alone
  pass.LearnFrom(teacher, 0.25);
  SetThreads(1);
  const double loss = pass.Run(owned.batch, 0.5, mixed.views);
  EXPECT_NEAR(loss, TaughtLoss(model, teacher, owned.batch, 0.25f), 1e-3);
  for (size_t i = 0; i < plain.memory.size(); ++i) {
    std::vector<double> sum;
    for (size_t k = 0; k < plain.memory[i].size(); ++k)
      sum.push_back(0.75 * plain.memory[i][k] + 0.25 * taught.memory[i][k]);
    ExpectClose(sum, ConstView(mixed.memory[i].data(), 1, static_cast<int64_t>(sum.size())), 1.0, "mixed");
  }
  SetThreads(3);
  OwnedGradients again(config);
  EXPECT_EQ(pass.Run(owned.batch, 0.5, again.views), loss);
  EXPECT_EQ(again.memory, mixed.memory);
  SetThreads(0);
  pass.LearnFrom(teacher, 0.0);
  OwnedGradients without(config);
  EXPECT_EQ(pass.Run(owned.batch, 0.5, without.views), alone);
  EXPECT_EQ(without.memory, plain.memory);
}

TEST(BackwardPass, NothingIsLeftToLearnFromAnEqualTeacher) {
  const ModelConfig config = TinyConfig(2, 16);
  const Model model = MakeRandomModel(config, DType::kF32, 3);
  const OwnedBatch owned(3, 130, config.vocab_size);
  BackwardPass pass(model, {}, KeepPolicy::kActivations);
  pass.LearnFrom(model, 1.0);
  OwnedGradients gradients(config);
  EXPECT_EQ(pass.Run(owned.batch, 1.0, gradients.views), 0.0);
  for (const std::vector<float>& values : gradients.memory)
    EXPECT_EQ(values, std::vector<float>(values.size(), 0.0f));
}

}  // namespace
}  // namespace ghost
