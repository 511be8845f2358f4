// Speed of attention: prefill and its gradient as a share of the matrix-product speed of this
// machine, and GB/s of decoding. Each figure is the best of several repeats, so other work on the
// machine affects it little.
//   build/src/kernels/attention_bench
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "base/threads.h"
#include "kernels/attention/attention_backward.h"
#include "kernels/machine/machine_limits.h"

namespace ghost {
namespace {

constexpr int kHeads = 32, kHeadDim = 80;
constexpr int64_t kCols = kHeads * kHeadDim;
constexpr AttentionShape kShape = {kHeads, kHeads, kHeadDim, 0.1118f};

double Largest(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }

std::vector<float> Fill(int64_t count) {
  Rng rng(1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(rng.Uniform(-1, 1));
  return values;
}

double GemmFlops() {
  static const double flops = [] {
    SetThreads(1);
    const double measured = MeasureMachineLimits().gemm_flops;
    SetThreads(0);
    return measured;
  }();
  return flops;
}

// Counts `products` products of a triangle of scores with a head's columns, 2 d flops per
// score each. One thread.
void SetShare(benchmark::State& bench, int64_t length, double products) {
  const double flops = products * 2 * static_cast<double>(length * (length + 1) / 2 * kCols);
  bench.counters["gemm_share"] = benchmark::Counter(
      flops * static_cast<double>(bench.iterations()) / GemmFlops(), benchmark::Counter::kIsRate);
}

struct Prefill {
  explicit Prefill(int64_t length)
      : span{0, length}, qkv(Fill(length * 3 * kCols)), out(static_cast<size_t>(length * kCols)) {
    const ConstView all(qkv.data(), length, 3 * kCols);
    q = all.Cols(0, kCols), k = all.Cols(kCols, kCols), v = all.Cols(2 * kCols, kCols);
  }
  void Run() { CausalAttention(kShape, q, k, v, {&span, 1}, View(out.data(), span.length, kCols)); }
  AttentionSpan span;
  std::vector<float> qkv, out;
  ConstView q, k, v;
};

// Argument: length.
void BM_Prefill(benchmark::State& bench) {
  Prefill prefill(bench.range(0));
  GemmFlops();
  SetThreads(1);
  for (auto _ : bench) prefill.Run();
  SetThreads(0);
  SetShare(bench, bench.range(0), 2);
}

// Argument: length. Forward has two products, backward five; a sixth, which recomputes the
// sums, is not counted.
void BM_Backward(benchmark::State& bench) {
  const int64_t L = bench.range(0);
  Prefill prefill(L);
  const std::vector<float> dout = Fill(L * kCols);
  std::vector<float> gradients(static_cast<size_t>(3 * L * kCols));
  const View all(gradients.data(), L, 3 * kCols);
  GemmFlops();
  SetThreads(1);
  prefill.Run();
  const AttentionBackwardInput in = {prefill.q, prefill.k, prefill.v, ConstView(prefill.out.data(), L, kCols),
                                     ConstView(dout.data(), L, kCols)};
  for (auto _ : bench) {
    CausalAttentionBackward(kShape, in, {&prefill.span, 1},
                            {all.Cols(0, kCols), all.Cols(kCols, kCols), all.Cols(2 * kCols, kCols)});
  }
  SetThreads(0);
  SetShare(bench, L, 5);
}

// Arguments: sequences, past, threads. The caches together are larger than the last-level cache.
void BM_Decode(benchmark::State& bench) {
  const int64_t sequences = bench.range(0), past = bench.range(1), floats = past * kCols;
  const std::vector<float> cache = Fill(2 * sequences * floats), qkv = Fill(sequences * 3 * kCols);
  std::vector<float> out(static_cast<size_t>(sequences * kCols));
  std::vector<AttentionSpan> spans;
  for (int64_t s = 0; s < sequences; ++s) {
    const float* keys = cache.data() + 2 * s * floats;
    spans.push_back({s, 1, keys, keys + floats, past});
  }
  const ConstView all(qkv.data(), sequences, 3 * kCols);
  SetThreads(static_cast<int>(bench.range(2)));
  for (auto _ : bench) {
    CausalAttention(kShape, all.Cols(0, kCols), all.Cols(kCols, kCols), all.Cols(2 * kCols, kCols), spans,
                    View(out.data(), sequences, kCols));
  }
  SetThreads(0);
  bench.SetBytesProcessed(bench.iterations() * static_cast<int64_t>(cache.size() * sizeof(float)));
}

void Best(benchmark::internal::Benchmark* b) {
  b->MinTime(0.01)
      ->Repetitions(5)
      ->ReportAggregatesOnly()
      ->ComputeStatistics("best", Largest)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_Prefill)->ArgName("L")->Arg(256)->Arg(2048)->Apply(Best);
BENCHMARK(BM_Backward)->ArgName("L")->Arg(512)->Apply(Best);
BENCHMARK(BM_Decode)
    ->ArgNames({"sequences", "past", "threads"})
    ->ArgsProduct({{32}, {1024}, {1, 2}})
    ->Args({1, 4096, 2})
    ->Apply(Best);

}  // namespace
}  // namespace ghost

BENCHMARK_MAIN();
