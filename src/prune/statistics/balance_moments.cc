#include "prune/statistics/balance_moments.h"

#include <algorithm>

#include "base/check.h"
#include "base/threads.h"
#include "kernels/matmul/matmul.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

// For the kept steps of one mixer.
constexpr int64_t kMaxKeptBytes = int64_t{256} << 20;

constexpr int64_t kErrorSteps = 16;  // whose errors one piece of work adds up

int64_t TriangleSize(int64_t N) { return N * (N + 1) / 2; }

void UnpackTriangle(const float* packed, View full) {
  for (int64_t i = 0; i < full.rows; ++i) {
    for (int64_t k = 0; k <= i; ++k) full.Row(i)[k] = full.Row(k)[i] = *packed++;
  }
}

// Row r of `lost`: sum_{i>=r} v_i (w_i . c), what is lost with r channels kept.
void FillLostParts(std::span<const double> v, std::span<const double> w, const float* c, int64_t N,
                   View lost) {
  std::vector<double> sum(static_cast<size_t>(N));
  for (int64_t r = N - 1; r >= 0; --r) {
    double along = 0.0;
    for (int64_t n = 0; n < N; ++n) along += w[static_cast<size_t>(r * N + n)] * c[n];
    for (int64_t n = 0; n < N; ++n) {
      sum[static_cast<size_t>(n)] += along * v[static_cast<size_t>(r * N + n)];
      lost.Row(r)[n] = static_cast<float>(sum[static_cast<size_t>(n)]);
    }
  }
}

// sums[r] += e^T P e with e what is lost of c with r channels kept; packed_p: the lower triangle of P: (N,
// N).
void AddErrors(const float* packed_p, const float* c, std::span<const double> v, std::span<const double> w,
               std::span<double> sums) {
  const auto N = static_cast<int64_t>(sums.size());
  float* memory = ThreadScratch(2, 3 * N * N);
  const View full(memory, N, N), lost(memory + N * N, N, N), products(memory + 2 * N * N, N, N);
  UnpackTriangle(packed_p, full);
  FillLostParts(v, w, c, N, lost);
  MatMul(lost, WeightView(DType::kF32, reinterpret_cast<const std::byte*>(full.data), N, N), products);
  for (int64_t r = 0; r < N; ++r) {
    double sum = 0.0;
    for (int64_t n = 0; n < N; ++n) sum += double{products.Row(r)[n]} * lost.Row(r)[n];
    sums[static_cast<size_t>(r)] += std::max(0.0, sum);
  }
}

}  // namespace

BalanceMoments::BalanceMoments(const MixerDims& dims, int64_t tokens, int64_t length)
    : sampler_(SampleStride(tokens, length)) {
  int64_t step_bytes = 0;
  for (int g = 0; g < dims.num_groups(); ++g) {
    const int64_t N = dims.group_size(g);
    groups_.push_back({.size = N,
                       .p = std::vector<double>(static_cast<size_t>(N * N)),
                       .q = std::vector<double>(static_cast<size_t>(N * N))});
    step_bytes += (TriangleSize(N) + N) * static_cast<int64_t>(sizeof(float));
  }
  const int64_t stride = SampleStride(tokens, length), steps = tokens / stride;
  keep_every_ = std::max<int64_t>(1, (steps * step_bytes + kMaxKeptBytes - 1) / kMaxKeptBytes);
  steps_per_sample_ = length / stride;
  total_steps_ = length == 0 ? 0 : tokens / length * steps_per_sample_;
  size_t moments = 0;
  for (const Group& group : groups_) moments += group.p.size() + group.q.size();
  chunks_ = OrderedSums<double>(moments);
}

void BalanceMoments::Add(const MixerChunk& chunk) {
  std::vector<double> piece(chunks_.size());
  std::vector<double*> parts;  // p and q of each group
  for (double* at = piece.data(); const Group& group : groups_) {
    parts.push_back(at);
    at += group.p.size() + group.q.size();
  }
  // Steps are counted over the whole calibration, so that it is the same ones that are kept for every cut.
  std::vector<int64_t> steps(groups_.size(), chunk.place.first_sample * steps_per_sample_);
  const int64_t kept_before = kept_.empty() ? 0 : kept_.back().end;
  int64_t kept = kept_before;
  sampler_.Run(chunk, [&](int g, std::span<const StepSampler::Sample> samples) {
    Group& group = groups_[static_cast<size_t>(g)];
    const int64_t N = group.size;
    std::vector<double> traces, squares;
    for (const StepSampler::Sample& sample : samples) {
      double trace = 0.0, square = 0.0;
      for (int64_t i = 0; i < N; ++i) {
        trace += sample.p.Row(i)[i];
        square += double{sample.c[i]} * sample.c[i];
      }
      traces.push_back(trace);
      squares.push_back(square);
      if (steps[static_cast<size_t>(g)]++ % keep_every_ != 0) continue;
      Keep(sample, group);
      if (g == 0) ++kept;
    }
    double* const p_sums = parts[static_cast<size_t>(g)];
    const auto add_row = [&](int64_t i) {
      double *to_p = p_sums + i * N, *to_q = p_sums + N * N + i * N;
      for (size_t s = 0; s < samples.size(); ++s) {
        const float *p = samples[s].p.Row(i), *c = samples[s].c;
        const double square = squares[s], factor = traces[s] * c[i];
        for (int64_t k = 0; k < N; ++k) to_p[k] += square * p[k];
        for (int64_t k = 0; k < N; ++k) to_q[k] += factor * c[k];
      }
    };
    ParallelFor(N, add_row, /*work=*/static_cast<int64_t>(samples.size()) * 2 * N * N);
  });
  kept_.push_back({chunk.place.number, kept_before, kept});
  chunks_.Add(chunk.place.number, std::span<const double>(piece));
}

void BalanceMoments::Combine() {
  std::vector<double> all(chunks_.size());
  chunks_.Combine(all);
  auto from = all.begin();
  for (Group& group : groups_) {
    for (std::vector<double>* part : {&group.p, &group.q}) {
      std::copy_n(from, part->size(), part->begin());
      from += static_cast<ptrdiff_t>(part->size());
    }
  }
}

void BalanceMoments::Keep(const StepSampler::Sample& sample, Group& group) {
  for (int64_t i = 0; i < group.size; ++i)
    group.kept_p.insert(group.kept_p.end(), sample.p.Row(i), sample.p.Row(i) + i + 1);
  group.kept_c.insert(group.kept_c.end(), sample.c, sample.c + group.size);
}

std::vector<double> BalanceMoments::ChunkErrors(const KeptChunk& chunk, const Group& group,
                                                std::span<const double> v, std::span<const double> w) const {
  // Blocks of steps have sums of their own, which are added in order.
  const int64_t N = group.size, steps = chunk.end - chunk.begin;
  std::vector<std::vector<double>> sums(static_cast<size_t>((steps + kErrorSteps - 1) / kErrorSteps));
  const auto measure = [&](int64_t block) {
    std::vector<double>& sum = sums[static_cast<size_t>(block)];
    sum.resize(static_cast<size_t>(N));
    const int64_t end = std::min(chunk.end, chunk.begin + (block + 1) * kErrorSteps);
    for (int64_t t = chunk.begin + block * kErrorSteps; t < end; ++t)
      AddErrors(group.kept_p.data() + t * TriangleSize(N), group.kept_c.data() + t * N, v, w, sum);
  };
  ParallelFor(static_cast<int64_t>(sums.size()), measure, /*work=*/steps * N * N * N);
  std::vector<double> errors(static_cast<size_t>(N));
  for (const std::vector<double>& sum : sums) {
    for (size_t r = 0; r < sum.size(); ++r) errors[r] += sum[r];
  }
  return errors;
}

std::vector<double> BalanceMoments::Errors(int g, std::span<const double> v,
                                           std::span<const double> w) const {
  const Group& group = groups_[static_cast<size_t>(g)];
  const int64_t N = group.size;
  GHOST_CHECK(static_cast<int64_t>(v.size()) == N * N && v.size() == w.size());
  OrderedSums<double> sums(static_cast<size_t>(N));
  for (const KeptChunk& chunk : kept_)
    sums.Add(chunk.number, std::span<const double>(ChunkErrors(chunk, group, v, w)));
  std::vector<double> errors(static_cast<size_t>(N) + 1);
  sums.Combine(std::span(errors).first(static_cast<size_t>(N)));
  const int64_t kept = std::max<int64_t>(1, (total_steps_ + keep_every_ - 1) / keep_every_);
  for (double& error : errors) error /= static_cast<double>(kept);
  return errors;
}

}  // namespace ghost
