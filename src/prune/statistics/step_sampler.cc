#include "prune/statistics/step_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/matmul/matmul.h"
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
    for (int64_t s = 0; s < sequences; ++s) {
      float* weights = gates.Row(k * sequences + s);
      GateGains(m, chunk.y.Row(row_of(k, s)), weights);
      for (int64_t r = 0; r < R; ++r) weights[r] *= out_norms_[static_cast<size_t>(r)];
      VisitStep(chunk, s, row_of(k, s), weights, visit);
    }
  }
  return samples * sequences;
}

void StepSampler::VisitStep(const MixerChunk& chunk, int64_t sequence, int64_t row, const float* weights,
                            const Visit& visit) {
  const MixerDims& d = chunk.mixer.dims;
  const int64_t P = d.head_dim, heads = d.num_heads / d.num_groups();
  const float* state = states_.data() + sequence * d.state_floats();  // (H, N_g, P)
  const float* c = chunk.scan->c.Row(row);
  for (int g = 0; g < d.num_groups(); ++g) {
    const int64_t N = d.group_size(g);
    const View scaled = Grow(scaled_, N, heads * P), products = Grow(products_, N, N);
    for (int64_t h = 0; h < heads; ++h, weights += P) {
      for (int64_t n = 0; n < N; ++n, state += P) {
        float* out = scaled.Row(n) + h * P;
        for (int64_t p = 0; p < P; ++p) out[p] = weights[p] * state[p];
      }
    }
    MatMul(scaled, WeightView(DType::kF32, reinterpret_cast<const std::byte*>(scaled.data), N, heads * P),
           products);
    visit(g, products, c);
    c += N;
  }
}

}  // namespace ghost
