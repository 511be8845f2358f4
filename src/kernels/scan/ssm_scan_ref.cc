#include <cmath>
#include <vector>

#include "kernels/scan/ssm_scan.h"

namespace ghost {
namespace {

// One head of one sequence; the state is float64 throughout.
void ScanHeadRef(const ScanInput& in, const SequenceSpan& sequence, int h, float* state, View y,
                 double* output_energy, double* state_energy) {
  const int H = in.num_heads, P = in.head_dim, G = static_cast<int>(in.group_begin.size()) - 1;
  const size_t g = static_cast<size_t>(h / (H / G));
  const int first = in.group_begin[g], N = in.group_begin[g + 1] - first;
  std::vector<double> s(state, state + N * P);
  for (int64_t t = sequence.begin; t < sequence.begin + sequence.length; ++t) {
    const double dt = in.dt.Row(t)[h], decay = std::exp(dt * in.a[h]);
    const float *x = in.x.Row(t) + h * P, *b = in.b.Row(t) + first, *c = in.c.Row(t) + first;
    for (int p = 0; p < P; ++p) {
      double sum = double{in.d[h]} * x[p];
      for (int n = 0; n < N; ++n) {
        double& v = s[static_cast<size_t>(n * P + p)];
        v = decay * v + dt * x[p] * b[n];
        sum += v * c[n];
        if (output_energy) output_energy[n] += v * c[n] * v * c[n];
        if (state_energy) state_energy[n] += v * v;
      }
      y.Row(t)[h * P + p] = static_cast<float>(sum);
    }
  }
  for (size_t i = 0; i < s.size(); ++i) state[i] = static_cast<float>(s[i]);
}

}  // namespace

void SsmScanRef(const ScanInput& in, View y, const ScanStats* stats) {
  const int H = in.num_heads, P = in.head_dim, G = static_cast<int>(in.group_begin.size()) - 1;
  int max_n = 0;
  for (size_t g = 0; g < static_cast<size_t>(G); ++g) {
    max_n = std::max(max_n, in.group_begin[g + 1] - in.group_begin[g]);
  }
  for (size_t s = 0; s < in.sequences.size(); ++s) {
    std::vector<float> discarded;
    float* state = in.sequences[s].state;
    if (state == nullptr) {
      discarded.resize(static_cast<size_t>(H / G * in.group_begin.back() * P));
      const float* start = in.sequences[s].start;
      if (start != nullptr) discarded.assign(start, start + discarded.size());
      state = discarded.data();
    }
    for (int h = 0; h < H; ++h) {
      const size_t g = static_cast<size_t>(h / (H / G));
      const size_t row = (s * static_cast<size_t>(H) + static_cast<size_t>(h)) * static_cast<size_t>(max_n);
      ScanHeadRef(in, in.sequences[s], h, state, y,
                  stats && stats->output_energy ? stats->output_energy + row : nullptr,
                  stats && stats->state_energy ? stats->state_energy + row : nullptr);
      state += (in.group_begin[g + 1] - in.group_begin[g]) * P;
    }
  }
}

void SoftplusClampRef(ConstView raw, const float* bias, float low, float high, View dt) {
  for (int64_t t = 0; t < raw.rows; ++t) {
    for (int64_t h = 0; h < raw.cols; ++h) {
      const double v = raw.Row(t)[h] + bias[h];  // a float32 sum, as in the reference model
      const double softplus = v > 20 ? v : std::log1p(std::exp(v));
      dt.Row(t)[h] = static_cast<float>(std::isnan(v) ? v : std::fmin(std::fmax(softplus, low), high));
    }
  }
}

}  // namespace ghost
