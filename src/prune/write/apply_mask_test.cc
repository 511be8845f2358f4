#include "prune/write/apply_mask.h"

#include <gtest/gtest.h>

#include "checkpoint/random_model.h"
#include "io/q8_0.h"
#include "tests/support/golden.h"
#include "tests/support/logits.h"
#include "tests/support/masks.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

// float32 sums in another order: relative to the largest magnitude.
constexpr double kSameLimit = 1e-5;

Model Masked(const Model& model, const StateMask& mask, bool keep_conv_bias = false) {
  ModelWeights weights = model.weights();
  for (size_t j = 0; j < weights.mixers.size(); ++j) {
    weights.mixers[j] =
        MaskBlock(weights.mixers[j], model.config().mixers[j], mask.mixers[j], keep_conv_bias);
  }
  return Model(model.config(), weights);
}

Model Compacted(const Model& model, const StateMask& mask, int padded) {
  ModelWeights weights = model.weights();
  ModelConfig config = model.config();
  for (size_t j = 0; j < weights.mixers.size(); ++j) {
    const MixerDims& dims = model.config().mixers[j];
    const std::vector<int> sizes(padded > 0 ? static_cast<size_t>(dims.num_groups()) : 0u, padded);
    weights.mixers[j] = CompactBlock(weights.mixers[j], dims, mask.mixers[j], sizes);
    config.mixers[j] = CompactDims(dims, mask.mixers[j], sizes);
  }
  return Model(config, weights);
}

void ExpectSame(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  EXPECT_LE(MaxAbsDifference(a, b), kSameLimit * MaxMagnitude(a)) << what;
}

class ApplyMaskTest : public testing::TestWithParam<int> {};

TEST_P(ApplyMaskTest, MaskedCompactedAndPaddedGiveTheSameLogits) {
  for (const bool bias : {false, true}) {
    for (const bool empty_group : {false, true}) {
      ModelConfig config = TinyConfig(GetParam(), 24);
      ForEachMixer(config, [&](MixerDims& d) { d.in_bias = d.out_bias = bias; });
      const Model model = MakeRandomModel(config, DType::kF32, 11);
      const StateMask mask = UnevenMask(config, 5, empty_group);
      const std::vector<int32_t> tokens = SomeTokens(40);
      const std::vector<float> masked = RunPass(Masked(model, mask), tokens).logits;
      ExpectSame(masked, RunPass(Compacted(model, mask, 0), tokens).logits, "ragged");
      ExpectSame(masked, RunPass(Compacted(model, mask, 24), tokens).logits, "padded");
      const std::vector<float> dense = RunPass(model, tokens).logits;
      EXPECT_GT(MaxAbsDifference(masked, dense), 1e-3 * MaxMagnitude(dense));
    }
  }
}

TEST_P(ApplyMaskTest, StateOfAMaskedChannelIsExactlyZero) {
  const ModelConfig config = TinyConfig(GetParam(), 16);
  const Model model = MakeRandomModel(config, DType::kF32, 12);
  const StateMask mask = UnevenMask(config, 6);
  const PassResult result = RunPass(Masked(model, mask), SomeTokens(30));
  for (size_t j = 0; j < config.mixers.size(); ++j) {
    const MixerDims& dims = config.mixers[j];
    for (int h = 0; h < dims.num_heads; ++h) {
      const auto& kept = mask.mixers[j].kept[static_cast<size_t>(dims.group_of_head(h))];
      for (int p = 0; p < dims.head_dim; ++p) {
        for (int i = 0; i < 16; ++i) {
          const float value = result.states[j][static_cast<size_t>((h * dims.head_dim + p) * 16 + i)];
          const bool stays = std::ranges::find(kept, i) != kept.end();
          EXPECT_EQ(value != 0.0f, stays) << j << " " << h << " " << p << " " << i;
        }
      }
    }
  }
}

TEST_P(ApplyMaskTest, KeptConvolutionBiasKeepsChannelsAlive) {
  const ModelConfig config = TinyConfig(GetParam(), 16);
  const Model model = MakeRandomModel(config, DType::kF32, 13);
  const StateMask mask = UnevenMask(config, 7);
  const std::vector<float> zeroed = RunPass(Masked(model, mask), SomeTokens(30)).logits;
  const std::vector<float> kept =
      RunPass(Masked(model, mask, /*keep_conv_bias=*/true), SomeTokens(30)).logits;
  EXPECT_GT(MaxAbsDifference(zeroed, kept), 1e-4 * MaxMagnitude(zeroed));
}

TEST_P(ApplyMaskTest, KeepingAllChangesNothing) {
  const ModelConfig config = TinyConfig(GetParam(), 16);
  const Model model = MakeRandomModel(config, DType::kBF16, 14);
  StateMask mask;
  for (const MixerDims& dims : config.mixers) mask.mixers.push_back(KeepAll(dims));
  const std::vector<float> dense = RunPass(model, SomeTokens(30)).logits;
  EXPECT_EQ(RunPass(Masked(model, mask), SomeTokens(30)).logits, dense);
  EXPECT_EQ(RunPass(Compacted(model, mask, 0), SomeTokens(30)).logits, dense);
}

INSTANTIATE_TEST_SUITE_P(Groups, ApplyMaskTest, testing::Values(1, 2, 4, 8));

TEST(ApplyMask, RowsAreCopiedInEveryType) {
  std::vector<float> values(4 * 32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 60.0f;
  std::vector<std::byte> blocks(4 * 34);
  QuantizeRowQ8_0(values, blocks.data());
  std::vector<std::byte> halves(4 * 64);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::byte>(i);
  const RowPlan rows = {3, -1, 1};
  for (const Tensor& tensor :
       {MakeTensor(Shape{4, 32}, values), MakeTensor(DType::kQ8_0, Shape{4, 32}, blocks),
        MakeTensor(DType::kF16, Shape{4, 32}, halves), MakeTensor(DType::kBF16, Shape{4, 1, 32}, halves)}) {
    const Tensor gathered = GatherRows(tensor, rows);
    const size_t row = tensor.num_bytes() / 4;
    ASSERT_EQ(gathered.num_bytes(), 3 * row);
    EXPECT_EQ(gathered.dtype(), tensor.dtype());
    EXPECT_EQ(gathered.shape().rank(), tensor.shape().rank());
    EXPECT_TRUE(std::ranges::equal(gathered.bytes().subspan(0, row), tensor.bytes().subspan(3 * row, row)));
    EXPECT_TRUE(std::ranges::equal(gathered.bytes().subspan(2 * row, row), tensor.bytes().subspan(row, row)));
    const std::vector<float> widened = ToFloats(gathered);
    for (size_t i = 32; i < 64; ++i) EXPECT_EQ(widened[i], 0.0f);
  }
  EXPECT_EQ(GatherRows(MakeTensor(Shape{4, 32}, values), {}).num_bytes(), 0u);
}

}  // namespace
}  // namespace ghost
