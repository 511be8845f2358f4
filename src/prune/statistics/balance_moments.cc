#include "prune/statistics/balance_moments.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/matmul/matmul.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

// For the kept steps of one mixer.
constexpr int64_t kMaxKeptBytes = int64_t{256} << 20;

int64_t TriangleSize(int64_t N) { return N * (N + 1) / 2; }

void UnpackTriangle(const float* packed, View full) {
  for (int64_t i = 0; i < full.rows; ++i) {
    for (int64_t k = 0; k <= i; ++k) full.Row(i)[k] = full.Row(k)[i] = *packed++;
  }
}

// Row r of `errors`: sum_{i>=r} v_i (w_i . c), what is lost with r channels kept.
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
  const int64_t steps = tokens / SampleStride(tokens, length);
  keep_every_ = std::max<int64_t>(1, (steps * step_bytes + kMaxKeptBytes - 1) / kMaxKeptBytes);
}

void BalanceMoments::Add(const MixerChunk& chunk) {
  sampler_.Run(chunk, [&](int g, ConstView p, const float* c) {
    Group& group = groups_[static_cast<size_t>(g)];
    const int64_t N = group.size;
    double trace = 0.0, square = 0.0;
    for (int64_t i = 0; i < N; ++i) {
      trace += p.Row(i)[i];
      square += double{c[i]} * c[i];
    }
    const bool keep = group.steps++ % keep_every_ == 0;
    for (int64_t i = 0; i < N; ++i) {
      double *to_p = group.p.data() + i * N, *to_q = group.q.data() + i * N;
      for (int64_t k = 0; k < N; ++k) {
        to_p[k] += square * p.Row(i)[k];
        to_q[k] += trace * c[i] * c[k];
      }
      if (keep) group.kept_p.insert(group.kept_p.end(), p.Row(i), p.Row(i) + i + 1);
    }
    if (!keep) return;
    group.kept_c.insert(group.kept_c.end(), c, c + N);
    ++group.kept_steps;
  });
}

std::vector<double> BalanceMoments::Errors(int g, std::span<const double> v,
                                           std::span<const double> w) const {
  const Group& group = groups_[static_cast<size_t>(g)];
  const int64_t N = group.size;
  GHOST_CHECK(static_cast<int64_t>(v.size()) == N * N && v.size() == w.size());
  std::vector<double> errors(static_cast<size_t>(N) + 1);
  Buffer full_memory, lost_memory, product_memory;
  const View full = Grow(full_memory, N, N), lost = Grow(lost_memory, N, N);
  const View products = Grow(product_memory, N, N);
  for (int64_t t = 0; t < group.kept_steps; ++t) {
    UnpackTriangle(group.kept_p.data() + t * TriangleSize(N), full);
    FillLostParts(v, w, group.kept_c.data() + t * N, N, lost);
    MatMul(lost, WeightView(DType::kF32, reinterpret_cast<const std::byte*>(full.data), N, N), products);
    for (int64_t r = 0; r < N; ++r) {
      double sum = 0.0;
      for (int64_t n = 0; n < N; ++n) sum += double{products.Row(r)[n]} * lost.Row(r)[n];
      errors[static_cast<size_t>(r)] += std::max(0.0, sum) / static_cast<double>(group.kept_steps);
    }
  }
  return errors;
}

}  // namespace ghost
