// Training speed: one update of a named shape, beside the matrix product rate of the same run.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "kernels/machine/machine_limits.h"
#include "train/shapes.h"
#include "train/trainer.h"

namespace ghost {
namespace {

// Multiply-adds count as two. Projections three times (forward, input's and weights' gradient), as do scan
// and head: the usual estimate, whatever a kernel really computes.
double FlopsPerToken(const ModelConfig& config) {
  double macs = static_cast<double>(config.vocab_size) * config.d_model;
  for (const MixerDims& dims : config.mixers) {
    macs += static_cast<double>(dims.in_proj_rows()) * dims.d_model;
    macs += static_cast<double>(dims.d_inner()) * dims.d_model;
    macs += 2.0 * static_cast<double>(dims.state_floats());  // input and output of the state
  }
  return 2 * 3 * macs;
}

void BenchTrain(benchmark::State& state, const char* shape, int vocab_size) {
  const ModelConfig config = TrainingShape(shape, vocab_size);
  TrainerSettings settings;
  settings.batch = 8;
  settings.micro_batch = state.range(0);
  settings.length = 512;
  Rng rng(1);
  std::vector<int32_t> ids(100000);
  for (int32_t& id : ids) id = static_cast<int32_t>(rng.Bits() % static_cast<uint64_t>(vocab_size));
  CorpusWindows source(ids, settings.length, 1);
  Trainer trainer(config, settings, source);
  trainer.Step();  // allocates all memory
  for (auto _ : state) trainer.Step();
  static const double gemm = MeasureMachineLimits().gemm_flops;
  const double tokens = static_cast<double>(state.iterations() * settings.batch * settings.length);
  state.counters["tokens/s"] = benchmark::Counter(tokens, benchmark::Counter::kIsRate);
  state.counters["share_of_gemm"] =
      benchmark::Counter(tokens * FlopsPerToken(config) / gemm, benchmark::Counter::kIsRate);
  state.counters["gemm_gflops"] = gemm / 1e9;
}

BENCHMARK_CAPTURE(BenchTrain, tiny, "tiny", 4096)
    ->ArgName("micro")
    ->Arg(8)
    ->Arg(4)
    ->Arg(2)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BenchTrain, tiny_g4, "tiny-g4", 4096)
    ->ArgName("micro")
    ->Arg(8)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BenchTrain, tiny_192, "tiny-192", 2048)
    ->ArgName("micro")
    ->Arg(8)
    ->Arg(4)
    ->Arg(2)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace ghost

BENCHMARK_MAIN();
