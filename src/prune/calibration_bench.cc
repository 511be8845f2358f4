// What pruning costs against one dense forward pass over the same tokens of a mamba2-130m-shaped model: GHOST
// against a pass without the head, which it does not need, and Taylor against one with its loss.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "base/threads.h"
#include "kernels/softmax.h"
#include "model/random_model.h"
#include "model/runner.h"
#include "prune/sequential.h"
#include "prune/taylor.h"

namespace ghost {
namespace {

constexpr int64_t kSamples = 8, kLength = 1024, kLogitRows = 512;

const Model& SharedModel() {
  static const Model model = MakeRandomModel(ReleasedConfig("mamba2-130m"), DType::kF32, 1);
  return model;
}

std::vector<std::vector<int32_t>> SomeSamples() {
  Rng rng(3);
  std::vector<std::vector<int32_t>> samples(kSamples);
  for (auto& sample : samples) {
    for (int64_t t = 0; t < kLength; ++t) sample.push_back(static_cast<int32_t>(rng.Bits() % 50000));
  }
  return samples;
}

double SumOfLosses(Runner& runner, ConstView hidden, std::span<const int32_t> tokens) {
  std::vector<double> losses(kLength - 1);
  for (int64_t begin = 0; begin < kLength - 1; begin += kLogitRows) {
    const ConstView logits = runner.Logits(hidden.Rows(begin, std::min(kLogitRows, kLength - 1 - begin)));
    ParallelFor(logits.rows, [&](int64_t row) {
      const auto t = static_cast<size_t>(begin + row);
      losses[t] = -LogProb({logits.Row(row), static_cast<size_t>(logits.cols)}, tokens[t + 1]);
    });
  }
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

void BM_Forward(benchmark::State& state) {
  const Model& model = SharedModel();
  const auto samples = SomeSamples();
  for (auto _ : state) {
    Runner runner(model);
    std::vector<SequenceState> sequences;
    for (int i = 0; i < 2; ++i) sequences.emplace_back(model.config());
    for (size_t i = 0; i < samples.size(); i += 2) {  // two samples fill a pass, as in the driver
      for (SequenceState& sequence : sequences) sequence.Reset();
      const SequenceInput inputs[] = {{samples[i], &sequences[0]}, {samples[i + 1], &sequences[1]}};
      benchmark::DoNotOptimize(runner.Forward(inputs).data);
    }
  }
}
BENCHMARK(BM_Forward)->Unit(benchmark::kSecond)->MeasureProcessCPUTime()->UseRealTime();

void BM_Ghost(benchmark::State& state) {
  const auto samples = SomeSamples();
  PruneRule rule;
  rule.method = &FindMethod("ghost");
  for (auto _ : state) {
    SequentialPruner pruner(SharedModel(), samples, rule);
    while (!pruner.done()) benchmark::DoNotOptimize(pruner.Step().mask.num_kept());
  }
}
BENCHMARK(BM_Ghost)->Unit(benchmark::kSecond)->MeasureProcessCPUTime()->UseRealTime();

void BM_ForwardAndLoss(benchmark::State& state) {
  const Model& model = SharedModel();
  const auto samples = SomeSamples();
  for (auto _ : state) {
    Runner runner(model);
    for (const auto& sample : samples) {
      SequenceState sequence(model.config());
      const SequenceInput input{sample, &sequence};
      benchmark::DoNotOptimize(SumOfLosses(runner, runner.Forward({&input, 1}), sample));
    }
  }
}
BENCHMARK(BM_ForwardAndLoss)->Unit(benchmark::kSecond)->MeasureProcessCPUTime()->UseRealTime();

void BM_Taylor(benchmark::State& state) {
  const auto samples = SomeSamples();
  for (auto _ : state) {
    benchmark::DoNotOptimize(ScoreTaylor(SharedModel(), samples, TaylorVariant::kFisher).mean_loss);
  }
}
BENCHMARK(BM_Taylor)->Unit(benchmark::kSecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace ghost

BENCHMARK_MAIN();
