// Speed of matrix products: ours against the serial OpenBLAS and, if installed, oneDNN; and of decoding with
// a stack of weights of mamba2-130m's shape.
//   build/src/kernels/matmul_bench
#include <benchmark/benchmark.h>
#include <cblas.h>

#ifdef GHOST_BENCH_DNNL
#include <dnnl.hpp>
#endif

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "base/threads.h"
#include "kernels/matmul/matmul.h"

namespace ghost {
namespace {

struct Product {
  Product(int64_t t, int64_t k, int64_t o)
      : T(t), K(k), O(o), x(Fill(T * K)), w(Fill(O * K)), y(Fill(T * O)) {}
  static std::vector<float> Fill(int64_t count) {
    Rng rng(3);
    std::vector<float> block(4096), values(static_cast<size_t>(count));
    for (float& v : block) v = static_cast<float>(rng.Uniform(-1, 1));
    for (size_t i = 0; i < values.size(); ++i) values[i] = block[i % block.size()];
    return values;
  }
  double Flops() const { return 2.0 * static_cast<double>(T * K * O); }
  WeightView Weights() const { return {DType::kF32, reinterpret_cast<const std::byte*>(w.data()), O, K}; }
  int64_t T, K, O;
  std::vector<float> x, w, y;
};

void SetRate(benchmark::State& bench, double flops) {
  bench.counters["flop"] =
      benchmark::Counter(flops * static_cast<double>(bench.iterations()), benchmark::Counter::kIsRate);
}

// Arguments: T, K, O, threads.
void BM_Ghost(benchmark::State& bench) {
  Product p(bench.range(0), bench.range(1), bench.range(2));
  SetThreads(static_cast<int>(bench.range(3)));
  for (auto _ : bench) MatMul(ConstView(p.x.data(), p.T, p.K), p.Weights(), View(p.y.data(), p.T, p.O));
  SetThreads(0);
  SetRate(bench, p.Flops());
}

// Tiles of 512 x 256 outputs, one serial sgemm each.
void BM_OpenBlas(benchmark::State& bench) {
  Product p(bench.range(0), bench.range(1), bench.range(2));
  SetThreads(static_cast<int>(bench.range(3)));
  const int64_t tile_t = 512, tile_o = 256, across = (p.O + tile_o - 1) / tile_o;
  for (auto _ : bench) {
    ParallelFor(across * ((p.T + tile_t - 1) / tile_t), [&](int64_t tile) {
      const int64_t t = tile / across * tile_t, o = tile % across * tile_o;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(std::min(tile_t, p.T - t)),
                  static_cast<int>(std::min(tile_o, p.O - o)), static_cast<int>(p.K), 1.0f,
                  p.x.data() + t * p.K, static_cast<int>(p.K), p.w.data() + o * p.K, static_cast<int>(p.K),
                  0.0f, p.y.data() + t * p.O + o, static_cast<int>(p.O));
    });
  }
  SetThreads(0);
  SetRate(bench, p.Flops());
}

#ifdef GHOST_BENCH_DNNL
// The same tiles through dnnl_sgemm. Run with OMP_NUM_THREADS=1, or the library starts its own threads.
void BM_Dnnl(benchmark::State& bench) {
  Product p(bench.range(0), bench.range(1), bench.range(2));
  SetThreads(static_cast<int>(bench.range(3)));
  const int64_t tile_t = 512, tile_o = 256, across = (p.O + tile_o - 1) / tile_o;
  for (auto _ : bench) {
    ParallelFor(across * ((p.T + tile_t - 1) / tile_t), [&](int64_t tile) {
      const int64_t t = tile / across * tile_t, o = tile % across * tile_o;
      dnnl_sgemm('N', 'T', std::min(tile_t, p.T - t), std::min(tile_o, p.O - o), p.K, 1.0f,
                 p.x.data() + t * p.K, p.K, p.w.data() + o * p.K, p.K, 0.0f, p.y.data() + t * p.O + o, p.O);
    });
  }
  SetThreads(0);
  SetRate(bench, p.Flops());
}

// oneDNN's matmul primitive over the whole matrix, with weights packed once beforehand; one thread.
void BM_DnnlPacked(benchmark::State& bench) {
  Product p(bench.range(0), bench.range(1), bench.range(2));
  using dnnl::memory;
  const auto f32 = memory::data_type::f32;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc x_desc({p.T, p.K}, f32, memory::format_tag::ab),
      y_desc({p.T, p.O}, f32, memory::format_tag::ab);
  const memory::desc w_desc({p.K, p.O}, f32, memory::format_tag::any);
  const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(x_desc, w_desc, y_desc), engine);
  memory plain({{p.K, p.O}, f32, memory::format_tag::ba}, engine, p.w.data()),
      packed(desc.weights_desc(), engine);
  dnnl::reorder(plain, packed).execute(stream, plain, packed);
  stream.wait();
  const dnnl::matmul product(desc);
  memory x(x_desc, engine, p.x.data()), y(y_desc, engine, p.y.data());
  for (auto _ : bench) {
    product.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, y}});
    stream.wait();
  }
  SetRate(bench, p.Flops());
}
#endif

void PrefillShapes(benchmark::internal::Benchmark* b, std::vector<int64_t> threads) {
  b->ArgNames({"T", "K", "O", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
  for (const int64_t T : {512, 2048}) {
    for (const auto& [K, O] : {std::pair{768, 3352}, {1536, 768}, {768, 50288}, {2048, 8512}, {4096, 2048}}) {
      for (const int64_t n : threads) {
        if (T * O < 60'000'000) b->Args({T, K, O, n});
      }
    }
  }
}

// Arguments: rows, threads, type. Multiplies by all projections and the head of mamba2-130m,
// 129 M weights in total.
void BM_DecodeStack(benchmark::State& bench) {
  const int64_t T = bench.range(0), layers = 24, M = 768, R = 1536, rows_in = 3352, V = 50288;
  const DType dtype = static_cast<DType>(bench.range(2));
  const DTypeInfo& info = InfoOf(dtype);
  const auto bytes_of = [&](int64_t rows, int64_t cols) {
    return rows * cols / info.block_size * info.block_bytes;
  };
  const int64_t layer_bytes = bytes_of(rows_in, M) + bytes_of(M, R),
                total = layers * layer_bytes + bytes_of(V, M);
  std::vector<std::byte> weights(static_cast<size_t>(total), std::byte{0x12});  // also a small scale
  std::vector<float> x(static_cast<size_t>(T * R), 0.5f), y(static_cast<size_t>(T * V));
  SetThreads(static_cast<int>(bench.range(1)));
  for (auto _ : bench) {
    const std::byte* w = weights.data();
    for (int64_t layer = 0; layer < layers; ++layer, w += layer_bytes) {
      MatMul(ConstView(x.data(), T, M), WeightView(dtype, w, rows_in, M), View(y.data(), T, rows_in));
      MatMul(ConstView(x.data(), T, R), WeightView(dtype, w + bytes_of(rows_in, M), M, R),
             View(y.data(), T, M));
    }
    MatMul(ConstView(x.data(), T, M), WeightView(dtype, w, V, M), View(y.data(), T, V));
  }
  SetThreads(0);
  bench.SetBytesProcessed(bench.iterations() * total);
  SetRate(bench, 2.0 * static_cast<double>(T * (layers * (rows_in * M + M * R) + V * M)));
}

void Register() {
  const std::vector<int64_t> both = {1, 2};
  PrefillShapes(benchmark::RegisterBenchmark("Ghost", BM_Ghost), both);
  PrefillShapes(benchmark::RegisterBenchmark("OpenBlas", BM_OpenBlas), {1});  // not safe on more threads
#ifdef GHOST_BENCH_DNNL
  PrefillShapes(benchmark::RegisterBenchmark("Dnnl", BM_Dnnl), both);
  PrefillShapes(benchmark::RegisterBenchmark("DnnlPacked", BM_DnnlPacked), {1});
#endif
  benchmark::RegisterBenchmark("DecodeStack", BM_DecodeStack)
      ->ArgNames({"T", "threads", "type"})
      ->ArgsProduct({{1, 2, 4, 8, 16, 32, 64, 256}, both, {0}})
      ->ArgsProduct({{1, 4, 8, 16, 32, 64, 256}, both, {1, 2, 3, 4, 5, 6, 7, 8, 9}})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace ghost

int main(int argc, char** argv) {
  ghost::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
