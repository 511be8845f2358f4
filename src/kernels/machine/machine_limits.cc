#include "kernels/machine/machine_limits.h"

#include <cblas.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/threads.h"
#include "base/timer.h"
#include "kernels/machine/machine_limits_simd.h"
#include "kernels/matmul/matmul.h"
#include "tensor/buffer.h"

namespace ghost {
namespace {

constexpr int kRepeats = 5;
constexpr int64_t kBufferFloats = int64_t{1} << 27;  // 512 MB: a last-level cache holds at most a part of it
constexpr int64_t kPieceFloats = int64_t{1} << 18;   // 1 MB
constexpr int64_t kSquare = 2048;

double BestSeconds(int repeats, const std::function<void()>& body) {
  double best = 1e30;
  for (int r = 0; r < repeats; ++r) {
    const Timer timer;
    body();
    best = std::min(best, timer.Seconds());
  }
  return best;
}

constexpr int64_t kFmaIterations = 100000;  // about half a millisecond
constexpr int64_t kFmaPieces = 100;         // per thread

// On all threads.
double MeasureFma() {
  const int64_t pieces = kFmaPieces * NumThreads();
  std::vector<float> sinks(static_cast<size_t>(pieces));
  std::vector<double> flops(static_cast<size_t>(pieces));
  const double seconds = BestSeconds(kRepeats, [&] {
    ParallelFor(pieces, [&](int64_t i) {
      flops[static_cast<size_t>(i)] = FmaLoop(kFmaIterations, &sinks[static_cast<size_t>(i)]);
    });
  });
  return flops[0] * static_cast<double>(pieces) / seconds;
}

double MeasureFmaOnOneThread() {
  float sink = 0.0f;
  double flops = 0.0;
  const double seconds = BestSeconds(kRepeats, [&] {
    flops = 0.0;
    for (int64_t i = 0; i < kFmaPieces; ++i) flops += FmaLoop(kFmaIterations, &sink);
  });
  return flops / seconds;
}

// The better of our own product and OpenBLAS, so that the figure does not rest on our code alone. The serial
// OpenBLAS gives wrong results when called from several threads (docs/decisions.md). It therefore runs on one
// thread, and its rate is multiplied by the speed-up of plain arithmetic on all threads, which is more than
// it could really reach.
double MeasureGemm(double fma_flops) {
  std::vector<float> x(kSquare * kSquare, 0.5f), w(kSquare * kSquare, 0.25f), y(kSquare * kSquare);
  const WeightView weights(DType::kF32, reinterpret_cast<const std::byte*>(w.data()), kSquare, kSquare);
  const double flops = 2.0 * static_cast<double>(kSquare * kSquare * kSquare);
  const double ours = BestSeconds(
      3, [&] { MatMul(ConstView(x.data(), kSquare, kSquare), weights, View(y.data(), kSquare, kSquare)); });
  const double openblas = BestSeconds(3, [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kSquare, kSquare, kSquare, 1.0f, x.data(), kSquare,
                w.data(), kSquare, 0.0f, y.data(), kSquare);
  });
  return std::max(flops / ours, flops / openblas * fma_flops / MeasureFmaOnOneThread());
}

}  // namespace

MachineLimits MeasureMachineLimits() {
  MachineLimits limits;
  limits.fma_flops = MeasureFma();
  limits.gemm_flops = MeasureGemm(limits.fma_flops);

  const Buffer buffer(kBufferFloats);  // huge pages where the system has them, as the states of sequences
  constexpr int64_t kPieces = kBufferFloats / kPieceFloats;
  const auto piece = [&](int64_t i) { return buffer.data() + i * kPieceFloats; };
  ParallelFor(kPieces, [&](int64_t i) { std::fill_n(piece(i), kPieceFloats, 1.0f); });
  std::vector<float> sums(static_cast<size_t>(kPieces));
  const double bytes = static_cast<double>(kBufferFloats) * sizeof(float);
  limits.read_bytes_per_s = bytes / BestSeconds(kRepeats, [&] {
                              ParallelFor(kPieces, [&](int64_t i) {
                                sums[static_cast<size_t>(i)] = SumLoop(piece(i), kPieceFloats);
                              });
                            });
  limits.update_bytes_per_s =
      2 * bytes / BestSeconds(kRepeats, [&] {
        ParallelFor(kPieces, [&](int64_t i) { UpdateLoop(piece(i), kPieceFloats, 0.5f, 0.5f); });
      });
  return limits;
}

}  // namespace ghost
