#include <gtest/gtest.h>

#include "bench/model_bench.h"
#include "checkpoint/family.h"
#include "checkpoint/random_model.h"

namespace ghost {
namespace {

TEST(Timings, BestMeanAndSpread) {
  const Timings timings{{1.0, 2.0, 3.0}};
  EXPECT_EQ(timings.Best(), 1.0);
  EXPECT_EQ(timings.Mean(), 2.0);
  EXPECT_EQ(timings.Deviation(), 1.0);
  EXPECT_EQ(Timings{{5.0}}.Deviation(), 0.0);
}

TEST(ModelBench, CountsWorkAsTheFormulasSay) {
  ModelConfig config = ReleasedConfig("mamba2-130m");
  KeepFirstLayers(1, config);
  config.vocab_size = config.token_count = 100;
  const Model model = MakeRandomModel(config, DType::kF32, 1);
  const PassCost decode = CostOfPass(model, /*sequences=*/3, /*tokens_per_sequence=*/1, /*head_rows=*/3);
  EXPECT_EQ(decode.matrix_flops, 3.0 * 2.0 * 768.0 * (3352 + 1536 + 100));
  EXPECT_EQ(decode.scan_flops, 3.0 * 5.0 * 24 * 64 * 128);
  EXPECT_EQ(decode.state_bytes, 3.0 * 2.0 * 4.0 * (24 * 64 * 128 + 3 * 1792));
  EXPECT_EQ(decode.weight_bytes, 4.0 * static_cast<double>(CountParameters(config)));

  const std::vector<BenchRow> rows =
      RunBench({{&model}, {&model, StateType::kInt8}}, {Phase::kDecode, 2, 3}, /*repeats=*/2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].timings.seconds.size(), 2u);
  EXPECT_EQ(rows[0].cost.weight_bytes, 3.0 * decode.weight_bytes);  // once per step
  EXPECT_EQ(rows[0].cost.matrix_flops, 2.0 * decode.matrix_flops);  // 3 steps x 2 sequences
  const double scales = 24 * 128 * 4;
  EXPECT_EQ(rows[1].cost.state_bytes, 3.0 * 2.0 * 2.0 * (24 * 64 * 128 + scales + 4.0 * 3 * 1792));
  EXPECT_EQ(StateBytesPerSequence({&model, StateType::kBF16}), 2 * 24 * 64 * 128 + 4 * 3 * 1792);
  const BenchRow timed{
      {Phase::kPrefill, 4, 512}, {{2.0}}, {.matrix_flops = 8e9, .weight_bytes = 1e9, .state_bytes = 3e9}};
  const LimitShares shares = SharesOf(
      timed, {.fma_flops = 1e10, .gemm_flops = 8e9, .read_bytes_per_s = 4e9, .update_bytes_per_s = 3e9});
  EXPECT_DOUBLE_EQ(shares.of_gemm, 0.5);
  EXPECT_DOUBLE_EQ(shares.of_read, 0.5);
  EXPECT_DOUBLE_EQ(shares.of_roofline, 0.9);
  EXPECT_DOUBLE_EQ(timed.tokens_per_second(), 1024.0);

  // At the limits half of the state would save 0.5 s; it saves 0.4.
  const MachineLimits limits{.fma_flops = 1e10, .update_bytes_per_s = 3e9};
  const BenchRow whole{{Phase::kDecode, 1, 1}, {{2.0}}, {.state_bytes = 3e9}};
  const BenchRow half{{Phase::kDecode, 1, 1}, {{1.6}}, {.state_bytes = 1.5e9}};
  EXPECT_DOUBLE_EQ(ShareOfGain(whole, half, limits).value(), 0.8);
  EXPECT_FALSE(ShareOfGain(half, whole, limits).has_value());
}

TEST(ModelBench, PrefillRunsAndCostsItsHeadRowsOnly) {
  ModelConfig config = ReleasedConfig("mamba2-130m");
  KeepFirstLayers(1, config);
  config.vocab_size = config.token_count = 64;
  const Model model = MakeRandomModel(config, DType::kBF16, 1);
  const BenchRow row = RunBench({{&model}}, {Phase::kPrefill, 2, 5}, /*repeats=*/1).front();
  EXPECT_EQ(row.cost.matrix_flops, 10.0 * 2.0 * 768 * (3352 + 1536) + 2.0 * 2.0 * 768 * 64);
  EXPECT_GT(row.timings.Best(), 0.0);
}

}  // namespace
}  // namespace ghost
