// Speed of the scan: ns per token and head with and without statistics, and GB/s of decoding. Each figure is
// the best of many short repeats, so other work on the machine affects it little.
//   build/src/kernels/scan_bench
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/threads.h"
#include "kernels/scan/ssm_scan_backward.h"

namespace ghost {
namespace {

constexpr int kHeadDim = 64;  // P

// Times and inverted rates: the smallest of the repeats. Rates: the largest.
double Smallest(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double Largest(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }

// Buffers of one layer with `sequences` sequences of `length` tokens, one group of N channels.
struct Layer {
  Layer(int64_t sequences, int64_t length, int H, int N, StateType type = StateType::kF32)
      : group_begin{0, N},
        xbc(static_cast<size_t>(sequences * length * (H * kHeadDim + 2 * N))),
        dt(static_cast<size_t>(sequences * length * H)),
        state_floats(StateBytes(type, int64_t{H} * N, kHeadDim) / 4),
        state(static_cast<size_t>(sequences * state_floats)),
        y(static_cast<size_t>(sequences * length * H * kHeadDim)),
        a(static_cast<size_t>(H), -1.0f),
        d(static_cast<size_t>(H), 0.5f) {
    Rng rng(1);
    for (float& v : xbc) v = static_cast<float>(rng.Uniform(-1, 1));
    for (float& v : dt) v = static_cast<float>(rng.Uniform(0.001, 0.1));
    const int64_t T = sequences * length, R = int64_t{H} * kHeadDim, cols = R + 2 * N;
    const ConstView all(xbc.data(), T, cols);
    for (int64_t s = 0; s < sequences; ++s) {
      spans.push_back({.begin = s * length,
                       .length = length,
                       .state = state.data() + s * state_floats,
                       .format = {.type = type}});
    }
    input = {H,
             kHeadDim,
             group_begin,
             all.Cols(0, R),
             all.Cols(R, N),
             all.Cols(R + N, N),
             ConstView(dt.data(), T, H),
             a.data(),
             d.data(),
             spans};
    out = View(y.data(), T, R);
  }
  std::vector<int> group_begin;
  std::vector<float> xbc, dt;
  int64_t state_floats;
  std::vector<float> state, y, a, d;
  std::vector<SequenceSpan> spans;
  ScanInput input;
  View out;
};

// Arguments: N, statistics (0 none, 1 output energy, 2 also state energy). One thread.
void BM_Prefill(benchmark::State& bench) {
  const int N = static_cast<int>(bench.range(0)), H = 2;
  const int64_t length = 256;
  Layer layer(1, length, H, N);
  std::vector<double> output(static_cast<size_t>(H * N)), energy(output.size());
  const ScanStats stats = {output.data(), bench.range(1) > 1 ? energy.data() : nullptr};
  SetThreads(1);
  for (auto _ : bench) SsmScan(layer.input, layer.out, bench.range(1) > 0 ? &stats : nullptr);
  SetThreads(0);
  bench.counters["s_per_token_head"] =
      benchmark::Counter(static_cast<double>(length * H * bench.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Prefill)
    ->ArgNames({"N", "stats"})
    ->ArgsProduct({{128, 64, 61, 32}, {0, 1, 2}})
    ->MinTime(0.005)
    ->Repetitions(40)
    ->ReportAggregatesOnly()
    ->ComputeStatistics("best", Smallest)
    ->Unit(benchmark::kMillisecond);

// Argument: N. The backward pass over four chunks, one thread.
void BM_Backward(benchmark::State& bench) {
  const int N = static_cast<int>(bench.range(0)), H = 8;
  const int64_t length = 256, R = 64 * H;
  Layer layer(1, length, H, N);
  std::vector<float> chunks(static_cast<size_t>(ChunkStatesFloats(layer.input)));
  std::vector<float> dx(static_cast<size_t>(length * R)), db(static_cast<size_t>(length * N)), dc = db;
  std::vector<float> ddt(static_cast<size_t>(length * H)), dy(dx.size(), 0.5f);
  SetThreads(1);
  SsmScanChunks(layer.input, layer.out, chunks.data());
  const ScanGradients gradients = {View(dx.data(), length, R), View(db.data(), length, N),
                                   View(dc.data(), length, N), View(ddt.data(), length, H)};
  for (auto _ : bench)
    SsmScanBackward(layer.input, chunks.data(), ConstView(dy.data(), length, R), gradients);
  SetThreads(0);
  bench.counters["s_per_token_head"] =
      benchmark::Counter(static_cast<double>(length * H * bench.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Backward)
    ->ArgName("N")
    ->Arg(128)
    ->Arg(61)
    ->MinTime(0.005)
    ->Repetitions(40)
    ->ReportAggregatesOnly()
    ->ComputeStatistics("best", Smallest)
    ->Unit(benchmark::kMillisecond);

// Arguments: N, sequences, threads, type of the states (in the order of kStateTypes). The states together are
// larger than the last-level cache, those of float32 by far.
void BM_Decode(benchmark::State& bench) {
  const int N = static_cast<int>(bench.range(0)), H = 24;
  const StateType type = kStateTypes[bench.range(3)];
  Layer layer(bench.range(1), 1, H, N, type);
  bench.SetLabel(std::string(NameOf(type)));
  SetThreads(static_cast<int>(bench.range(2)));
  for (auto _ : bench) SsmScan(layer.input, layer.out);
  SetThreads(0);
  bench.SetBytesProcessed(bench.iterations() * static_cast<int64_t>(2 * layer.state.size() * sizeof(float)));
}
BENCHMARK(BM_Decode)
    ->ArgNames({"N", "sequences", "threads", "type"})
    ->ArgsProduct({{128, 64, 61}, {512}, {1, 2}, {0, 1, 2, 3}})
    ->MinTime(0.01)
    ->Repetitions(10)
    ->ReportAggregatesOnly()
    ->ComputeStatistics("best", Largest)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ghost

BENCHMARK_MAIN();
