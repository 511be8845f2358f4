#include "prune/statistics/step_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/threads.h"
#include "kernels/matmul/matmul.h"
#include "kernels/simd/scratch.h"
#include "model/parts/mixer_forward.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

// Norms of the columns of out_proj, (R).
std::vector<float> ColumnNorms(const Mixer& m) {
  const WeightView out(m.out_proj);
  std::vector<double> squares(static_cast<size_t>(out.cols));
  std::vector<float> row(squares.size());
  for (int64_t o = 0; o < out.rows; ++o) {
    WidenElements(out.dtype, out.Row(o), 0, out.cols, row.data());
    const double scale = m.out_scale.empty() ? 1.0 : m.out_scale[static_cast<size_t>(o)];
    for (size_t r = 0; r < row.size(); ++r) squares[r] += scale * scale * row[r] * row[r];
  }
  std::vector<float> norms;
  for (const double square : squares) norms.push_back(static_cast<float>(std::sqrt(square)));
  return norms;
}

double Silu(double v) { return v / (1.0 + std::exp(-v)); }

// z becomes what multiplies y on its way to the output projection, (R), for fixed root mean squares.
void GateGains(const Mixer& m, const float* y, float* z) {
  const MixerDims& d = m.dims;
  const int64_t R = d.d_inner();
  for (int64_t r = 0; r < R; ++r) z[r] = static_cast<float>(Silu(z[r]));
  if (!d.has_gate_norm()) return;
  const int64_t span = R / d.norm_groups();
  for (int64_t begin = 0; begin < R; begin += span) {
    double sum = 0.0;
    for (int64_t r = begin; r < begin + span; ++r) {
      const double v = d.gate_form == GateForm::kGateThenNorm ? double{y[r]} * z[r] : y[r];
      sum += v * v;
    }
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(span) + d.gate_eps);
    for (int64_t r = begin; r < begin + span; ++r)
      z[r] = static_cast<float>(z[r] * scale * m.gate_norm[static_cast<size_t>(r)]);
  }
}

// Channels of (h, p) whose products are summed by one piece of work: a panel of N such rows stays in a core's
// cache. Fixed, so that the order of sums is.
constexpr int64_t kPanelChannels = 512;
constexpr int64_t kProductRows = 32;  // P_t is symmetric: blocks of rows need no columns behind them

// Heads of a group, cut into equal pieces of whole heads.
struct HeadPieces {
  int64_t heads = 0;  // of a piece; the last may have fewer
  int64_t count = 0;

  HeadPieces(int64_t all, int64_t head_dim) : heads(std::clamp<int64_t>(kPanelChannels / head_dim, 1, all)) {
    count = (all + heads - 1) / heads;
  }
};

// sum_{h,p} gains[h,p]^2 state[h,i,p] state[h,k,p] for some heads: gains (heads, P), state (heads, N, P),
// product (N, N).
void WeightedGram(const float* gains, const float* state, int64_t heads, int64_t P, View product) {
  const int64_t N = product.rows, channels = heads * P;
  const View panel(ThreadScratch(2, N * channels), N, channels);
  for (int64_t h = 0; h < heads; ++h, gains += P) {
    for (int64_t n = 0; n < N; ++n, state += P) {
      float* out = panel.Row(n) + h * P;
      for (int64_t p = 0; p < P; ++p) out[p] = gains[p] * state[p];
    }
  }
  const WeightView all(DType::kF32, reinterpret_cast<const std::byte*>(panel.data), N, channels);
  for (int64_t i = 0; i < N; i += kProductRows) {
    const int64_t rows = std::min(kProductRows, N - i);
    MatMul(panel.Rows(i, rows), all.Rows(0, i + rows), product.Rows(i, rows).Cols(0, i + rows));
  }
}

// The sum of partial products, lower triangles alone, mirrored into the first one.
void SumPartial(std::span<const View> partial) {
  const View total = partial[0];
  for (int64_t i = 0; i < total.rows; ++i) {
    for (const View& more : partial.subspan(1)) {
      for (int64_t k = 0; k <= i; ++k) total.Row(i)[k] += more.Row(i)[k];
    }
    for (int64_t k = 0; k < i; ++k) total.Row(k)[i] = total.Row(i)[k];
  }
}

}  // namespace

int64_t SampleStride(int64_t tokens, int64_t length) {
  constexpr int64_t kSteps = 10000, kSmallest = 13;
  const int64_t stride = std::max(kSmallest, (tokens + kSteps - 1) / kSteps);
  return std::min(stride % 2 == 0 ? stride + 1 : stride, std::max<int64_t>(1, length));
}

StepSampler::StepSampler(int64_t stride) : stride_(stride) { GHOST_CHECK(stride >= 1); }

int64_t StepSampler::Run(const MixerChunk& chunk, const Visit& visit) {
  GHOST_CHECK(chunk.scan != nullptr);
  const Mixer& m = chunk.mixer;
  if (out_norms_.empty()) out_norms_ = ColumnNorms(m);
  const auto sequences = static_cast<int64_t>(chunk.scan->sequences.size());
  if (sequences == 0) return 0;
  const int64_t length = chunk.scan->sequences[0].length, samples = length / stride_;
  const int64_t R = m.dims.d_inner(), M = m.dims.d_model, floats = m.dims.state_floats();

  // z of all sampled rows in one product: place k * sequences + s is step k of sequence s.
  const View rows = Grow(rows_, samples * sequences, M), gates = Grow(gates_, rows.rows, R);
  const auto row_of = [&](int64_t k, int64_t s) {
    return chunk.scan->sequences[static_cast<size_t>(s)].begin + (k + 1) * stride_ - 1;
  };
  for (int64_t k = 0; k < samples; ++k) {
    for (int64_t s = 0; s < sequences; ++s)
      std::memcpy(rows.Row(k * sequences + s), chunk.normed.Row(row_of(k, s)),
                  static_cast<size_t>(M) * sizeof(float));
  }
  ProjectGate(m, rows, gates);

  const View states = Grow(states_, sequences, floats);
  ZeroRows(states);
  std::vector<SequenceSpan> spans(chunk.scan->sequences.begin(), chunk.scan->sequences.end());
  ScanInput segment = *chunk.scan;
  segment.sequences = spans;
  for (int64_t k = 0; k < samples; ++k) {
    for (int64_t s = 0; s < sequences; ++s) {
      SequenceSpan& span = spans[static_cast<size_t>(s)];
      span.begin = chunk.scan->sequences[static_cast<size_t>(s)].begin + k * stride_;
      span.length = stride_;
      span.state = states.Row(s);
    }
    SsmScan(segment, chunk.y);
    const View gains = gates.Rows(k * sequences, sequences);
    std::vector<int64_t> sampled;
    for (int64_t s = 0; s < sequences; ++s) sampled.push_back(row_of(k, s));
    const auto weigh = [&](int64_t s) {
      float* row = gains.Row(s);
      GateGains(m, chunk.y.Row(sampled[static_cast<size_t>(s)]), row);
      for (int64_t r = 0; r < R; ++r) row[r] *= out_norms_[static_cast<size_t>(r)];
    };
    ParallelFor(sequences, weigh);
    VisitSteps(chunk, sampled, gains, visit);
  }
  return samples * sequences;
}

void StepSampler::VisitSteps(const MixerChunk& chunk, std::span<const int64_t> rows, ConstView gains,
                             const Visit& visit) {
  const MixerDims& d = chunk.mixer.dims;
  const auto sequences = static_cast<int64_t>(rows.size());
  const int64_t P = d.head_dim, heads = d.num_heads / d.num_groups();
  const HeadPieces pieces(heads, P);
  for (int g = 0; g < d.num_groups(); ++g) {
    const int64_t N = d.group_size(g), first = d.state_begin[static_cast<size_t>(g)];
    const View memory = Grow(partial_, sequences * pieces.count, N * N);
    std::vector<View> partial;
    for (int64_t i = 0; i < memory.rows; ++i) partial.emplace_back(memory.Row(i), N, N);
    const auto multiply = [&](int64_t item) {
      const int64_t s = item / pieces.count, h = item % pieces.count * pieces.heads;
      // The state is (H, N_g, P): every group before g has as many heads.
      const float* state = states_.data() + s * d.state_floats() + (heads * first + h * N) * P;
      WeightedGram(gains.Row(s) + (g * heads + h) * P, state, std::min(pieces.heads, heads - h), P,
                   partial[static_cast<size_t>(item)]);
    };
    ParallelFor(memory.rows, multiply, /*work=*/sequences * heads * P * N * N);
    std::vector<Sample> samples;
    for (int64_t s = 0; s < sequences; ++s) {
      samples.push_back({.p = partial[static_cast<size_t>(s * pieces.count)],
                         .c = chunk.scan->c.Row(rows[static_cast<size_t>(s)]) + first});
    }
    const auto sum = [&](int64_t s) {
      SumPartial(std::span(partial).subspan(static_cast<size_t>(s * pieces.count),
                                            static_cast<size_t>(pieces.count)));
    };
    ParallelFor(sequences, sum, /*work=*/sequences * pieces.count * N * N);
    visit(g, samples);
  }
}

}  // namespace ghost
