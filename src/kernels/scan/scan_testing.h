// A batch of sequences for the tests of the scan.
#pragma once

#include <utility>
#include <vector>

#include "kernels/kernel_testing.h"
#include "kernels/row_tasks.h"
#include "kernels/scan/ssm_scan.h"
#include "kernels/scan/stored_head.h"

namespace ghost {

// A batch with all its data; copies have their own state.
struct ScanProblem {
  ScanProblem(int heads, int head_dim, std::vector<int> groups, std::vector<int64_t> lengths, uint64_t seed,
              StateFormat states = {})
      : H(heads),
        P(head_dim),
        group_begin(std::move(groups)),
        sequence_lengths(std::move(lengths)),
        format(states) {
    Rng rng(seed);
    for (const int64_t length : sequence_lengths) T += length;
    const int64_t all_n = group_begin.back(), G = static_cast<int64_t>(group_begin.size()) - 1;
    channels = H / G * all_n;
    state_floats = CeilDiv(StateBytes(format.type, channels, P), 4);
    // One wide matrix, as the convolution leaves it; the odd offset makes every start misaligned.
    cols = 1 + H * P + 2 * all_n + 2;
    xbc = RandomFloats(T * cols, rng);
    dt = RandomFloats(T * H, rng, 0.001, 0.3);
    a = RandomFloats(H, rng, -16, -0.02);
    d = RandomFloats(H, rng);
    state = format.type == StateType::kF32
                ? RandomFloats(static_cast<int64_t>(sequence_lengths.size()) * state_floats, rng)
                : RandomStates(rng);
    max_n = 0;
    for (size_t g = 0; g + 1 < group_begin.size(); ++g) {
      max_n = std::max(max_n, group_begin[g + 1] - group_begin[g]);
    }
  }

  // Of a small type, one after the other.
  std::vector<float> RandomStates(Rng& rng) const {
    std::vector<float> all(sequence_lengths.size() * static_cast<size_t>(state_floats));
    for (size_t s = 0; s < sequence_lengths.size(); ++s) {
      const std::vector<float> values = RandomFloats(channels * P, rng);
      NarrowHeadRef(values.data(), MakeRoundingSeeds(0, 0, static_cast<int>(s)), WholeState(all, s));
    }
    return all;
  }
  // The state of sequence s as one head of all channels.
  StoredHead WholeState(std::vector<float>& states, size_t s) const {
    return ViewHead(format.type, states.data() + static_cast<int64_t>(s) * state_floats, channels, 0,
                    static_cast<int>(channels), P);
  }
  // All states as float32.
  std::vector<float> Widened(std::vector<float> states) const {
    std::vector<float> values(sequence_lengths.size() * static_cast<size_t>(channels * P));
    for (size_t s = 0; s < sequence_lengths.size(); ++s)
      WidenHeadRef(WholeState(states, s), values.data() + static_cast<int64_t>(s) * channels * P);
    return values;
  }

  struct Result {
    std::vector<float> y, state;
    std::vector<double> output_energy, state_energy;
  };

  enum StateUse { kOwn, kPassing, kPassingFromNothing };

  // stats: 0 none, 1 output energy, 2 both, 3 state energy alone.
  Result Run(bool ref, int stats, StateUse use = kOwn) const {
    Result r;
    r.state = state;
    r.y.resize(static_cast<size_t>(T * H * P));
    const size_t rows = sequence_lengths.size() * static_cast<size_t>(H);
    r.output_energy.assign(rows * static_cast<size_t>(max_n), 0.5);
    r.state_energy.assign(rows * static_cast<size_t>(max_n), 0.25);
    std::vector<SequenceSpan> spans;
    int64_t begin = 0;
    for (size_t s = 0; s < sequence_lengths.size(); ++s) {
      float* own = r.state.data() + static_cast<int64_t>(s) * state_floats;
      spans.push_back({begin, sequence_lengths[s], nullptr, use == kOwn ? own : nullptr,
                       use == kPassing ? own : nullptr, format, position, mixer});
      begin += sequence_lengths[s];
    }
    const ConstView all(xbc.data(), T, cols);
    const int64_t all_n = group_begin.back();
    const ScanInput in = {H,
                          P,
                          group_begin,
                          all.Cols(1, H * P),
                          all.Cols(1 + H * P, all_n),
                          all.Cols(1 + H * P + all_n, all_n),
                          ConstView(dt.data(), T, H),
                          a.data(),
                          d.data(),
                          spans};
    const ScanStats sums = {stats == 1 || stats == 2 ? r.output_energy.data() : nullptr,
                            stats >= 2 ? r.state_energy.data() : nullptr};
    (ref ? SsmScanRef : SsmScan)(in, View(r.y.data(), T, H * P), stats ? &sums : nullptr);
    return r;
  }

  int H, P;
  std::vector<int> group_begin;
  std::vector<int64_t> sequence_lengths;
  StateFormat format;
  int64_t position = 0;  // of the first token of every sequence
  int mixer = 0;
  int64_t T = 0, cols = 0, channels = 0, state_floats = 0;
  int max_n = 0;
  std::vector<float> xbc, dt, a, d, state;
};

}  // namespace ghost
