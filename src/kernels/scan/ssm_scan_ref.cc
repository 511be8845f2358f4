#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/scan/ssm_scan.h"
#include "kernels/scan/stored_head.h"

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

// The same from a state of a small type, which is rounded after every `piece` tokens.
void ScanStoredRef(const ScanInput& in, const SequenceSpan& sequence, int h, const StoredHead& head,
                   int64_t piece, View y) {
  std::vector<float> values(static_cast<size_t>(head.N * head.P));
  SequenceSpan part = sequence;
  for (int64_t done = 0; done < sequence.length; done += part.length) {
    part.begin = sequence.begin + done;
    part.length = std::min(piece, sequence.length - done);
    WidenHeadRef(head, values.data());
    ScanHeadRef(in, part, h, values.data(), y, nullptr, nullptr);
    const int64_t last = sequence.position + done + part.length - 1;
    NarrowHeadRef(values.data(), MakeRoundingSeeds(last, sequence.mixer, h), head);
  }
}

// A copy of the state that a sequence without its own starts from.
std::vector<float> CopyStartRef(const SequenceSpan& sequence, int64_t channels, int P) {
  const auto bytes = static_cast<size_t>(StateBytes(sequence.format.type, channels, P));
  std::vector<float> copy((bytes + 3) / 4);
  if (sequence.start != nullptr) std::memcpy(copy.data(), sequence.start, bytes);
  return copy;
}

}  // namespace

void SsmScanRef(const ScanInput& in, View y, const ScanStats* stats) {
  const int H = in.num_heads, P = in.head_dim, G = static_cast<int>(in.group_begin.size()) - 1;
  int max_n = 0;
  for (size_t g = 0; g < static_cast<size_t>(G); ++g) {
    max_n = std::max(max_n, in.group_begin[g + 1] - in.group_begin[g]);
  }
  const int64_t channels = int64_t{H / G} * in.group_begin.back();
  for (size_t s = 0; s < in.sequences.size(); ++s) {
    const SequenceSpan& sequence = in.sequences[s];
    const StateType type = sequence.format.type;
    std::vector<float> discarded;
    void* state = sequence.state;
    if (state == nullptr) {
      discarded = CopyStartRef(sequence, channels, P);
      state = discarded.data();
    }
    int64_t before = 0;
    for (int h = 0; h < H; ++h) {
      const size_t g = static_cast<size_t>(h / (H / G));
      const int N = in.group_begin[g + 1] - in.group_begin[g];
      const StoredHead head = ViewHead(type, state, channels, before, N, P);
      before += N;
      const size_t row = (s * static_cast<size_t>(H) + static_cast<size_t>(h)) * static_cast<size_t>(max_n);
      if (type == StateType::kF32) {
        ScanHeadRef(in, sequence, h, reinterpret_cast<float*>(head.values), y,
                    stats && stats->output_energy ? stats->output_energy + row : nullptr,
                    stats && stats->state_energy ? stats->state_energy + row : nullptr);
      } else {
        const bool each = sequence.format.rounding == StateRounding::kAfterToken;
        ScanStoredRef(in, sequence, h, head, each ? 1 : sequence.length, y);
      }
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
