// The float64 reference against finite differences, and BackwardPass against the reference.
#include "model/backward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "model/random_model.h"
#include "tests/support/reference_block.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

const MambaBlock& BlockOf(const Model& model, int layer) {
  return *model.layers()[static_cast<size_t>(layer)]->mixer();
}

ModelConfig SmallConfig() {
  ModelConfig config = TinyConfig(2, 3, /*vocab_size=*/11);
  config.projection_bias = true;
  config.d_model = 6;
  for (BlockDims& dims : config.blocks) {
    dims.d_model = 6;
    dims.num_heads = 4;
    dims.head_dim = 3;
  }
  return config;
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
    ASSERT_EQ(config.norm_grouping, NormGrouping::kGrouped);
    if (clamp) config.dt_min = 0.01f, config.dt_max = 0.05f;
    const Model model = MakeRandomModel(config, DType::kF32, 5);
    ReferenceBlock block(BlockOf(model, 0));
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
  }
}

struct ReferenceResult {
  double loss = 0;
  std::vector<ReferenceBlock::Gradients> layers;
};

// The whole model in float64: the sum of -log p over the targets and its gradients.
ReferenceResult ReferenceGradients(const Model& model, std::span<const int32_t> tokens) {
  const ModelConfig& config = model.config();
  const auto L = static_cast<int64_t>(tokens.size()), M = int64_t{config.d_model};
  const DoubleMatrix embedding = ToDoubles(model.weights().embedding), head = ToDoubles(model.weights().head);
  DoubleMatrix u(L, M);
  for (int64_t t = 0; t < L; ++t) {
    for (int64_t m = 0; m < M; ++m) u.At(t, m) = embedding.At(tokens[static_cast<size_t>(t)], m);
  }
  std::vector<ReferenceBlock> blocks;
  std::vector<ReferenceBlock::Activations> activations;
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    blocks.emplace_back(BlockOf(model, layer));
    activations.push_back(blocks.back().Forward(u));
    u = activations.back().out;
  }
  const std::vector<double> norm(model.final_norm().begin(), model.final_norm().end());
  const double eps = config.norm_eps;
  DoubleMatrix logits = TimesTransposed(ReferenceNorm(std::as_const(u).view(), norm, eps, 1), head);
  ReferenceResult result;
  for (int64_t t = 0; t < L; ++t) {
    double sum = 0;
    for (int64_t v = 0; v < logits.cols; ++v) sum += std::exp(logits.At(t, v));
    const bool has_target = t + 1 < L;
    if (has_target) result.loss += std::log(sum) - logits.At(t, tokens[static_cast<size_t>(t + 1)]);
    for (int64_t v = 0; v < logits.cols; ++v) {
      const bool wanted = has_target && v == tokens[static_cast<size_t>(t + 1)];
      logits.At(t, v) = has_target ? std::exp(logits.At(t, v)) / sum - (wanted ? 1 : 0) : 0;
    }
  }
  DoubleMatrix du(L, M);
  const DoubleMatrix dfinal = Times(logits, head);
  RmsNormBackwardRef<double>(std::as_const(u).view(), norm.data(), eps, dfinal.view(), du.view());
  result.layers.resize(blocks.size());
  for (size_t layer = blocks.size(); layer-- > 0;) {
    result.layers[layer] = blocks[layer].Backward(activations[layer], du);
    du = result.layers[layer].u;
  }
  return result;
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
  const ReferenceResult expected = ReferenceGradients(model, tokens);
  const double scale = 1.0 / static_cast<double>(length - 1);
  BackwardPass pass(model);
  int calls = 0;
  const double loss = pass.Run(tokens, scale, [&](int layer, const BlockGradients& gradients) {
    SCOPED_TRACE(layer);
    const ReferenceBlock::Gradients& want = expected.layers[static_cast<size_t>(layer)];
    EXPECT_EQ(gradients.first_row, 0);
    ExpectClose(want.in_proj.values, gradients.in_proj, scale, "in_proj");
    ExpectClose(want.conv_taps, gradients.conv, scale, "conv");
    if (config.conv_bias) {
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
  config.conv_bias = false;
  config.projection_bias = true;
  config.norm_grouping = NormGrouping::kFull;
  config.dt_min = 0.003f, config.dt_max = 0.03f;
  ExpectMatchesReference(config, DType::kF32, 65);
}

TEST(BackwardPass, LayersAndGroupsMayHaveDifferentStateSizes) {
  ModelConfig config = TinyConfig(2, 16);
  config.blocks[0].group_begin = {0, 5, 12};
  config.blocks[1].group_begin = {0, 0, 9};
  ExpectMatchesReference(config, DType::kF32, 100);
}

TEST(BackwardPass, StateRowsAloneAreTheSameRows) {
  const Model model = MakeRandomModel(TinyConfig(2, 9), DType::kF32, 4);
  const std::vector<int32_t> long_sample(90, 3), sample = {1, 5, 2, 2, 40, 49, 0};
  BackwardPass all(model), rows(model, {.in_proj = InProjRows::kState, .conv = false});
  std::vector<float> expected;
  all.Run(sample, 0.5, [&](int layer, const BlockGradients& gradients) {
    const BlockDims& dims = model.config().blocks[static_cast<size_t>(layer)];
    const ConstView part = gradients.in_proj.Rows(2 * dims.d_inner(), 2 * dims.state_channels());
    expected.insert(expected.end(), part.data, part.data + part.rows * part.cols);
  });
  rows.Run(long_sample, 1.0, [](int, const BlockGradients&) {});  // leaves nothing behind
  size_t at = 0;
  rows.Run(sample, 0.5, [&](int layer, const BlockGradients& gradients) {
    EXPECT_EQ(gradients.first_row, 2 * model.config().blocks[static_cast<size_t>(layer)].d_inner());
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
  const auto sink = [](int, const BlockGradients&) {};
  for (const std::vector<int32_t>& tokens : std::vector<std::vector<int32_t>>{{}, {1}, {1, 50}, {-1, 2}}) {
    EXPECT_THROW(pass.Run(tokens, 1.0, sink), Error);
  }
}

}  // namespace
}  // namespace ghost
