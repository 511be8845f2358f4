// Sampled steps of a mixer's recurrence: the states there, as the layer's output sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "prune/statistics/statistic.h"
#include "tensor/buffer.h"

namespace ghost {

// How far samples are apart for that many calibration tokens in sequences of one length. A sampled step costs
// R N^2 multiply-adds, about as much as its layer's forward pass over a few tokens, so a large calibration is
// not sampled as often as a small one. Odd, because lists of recall documents repeat every 4 tokens.
int64_t SampleStride(int64_t tokens, int64_t length);

class StepSampler {
 public:
  // Every `stride`-th step of a sequence is a sample.
  explicit StepSampler(int64_t stride);

  // A sampled step t of one sequence, seen by one group, with
  //   P_t[i][k] = sum_{h,p} w_t[h,p]^2 state_t[h,i,p] state_t[h,k,p]
  // over the group's heads, where w_t[h,p] is the gate (and norm) of channel (h, p) at step t, times the norm
  // of that column of out_proj. A change e of C'_t changes the layer's output by e^T P_t e, if columns of
  // out_proj were orthogonal and the norm's divisor fixed.
  struct Sample {
    ConstView p;               // (N, N): P_t
    const float* c = nullptr;  // (N): C'_t
  };
  // Hears, group by group, of samples in the order in which they must be summed. Views end with the call.
  using Visit = std::function<void(int group, std::span<const Sample> samples)>;
  // The number of sampled steps. chunk.y is overwritten.
  int64_t Run(const MixerChunk& chunk, const Visit& visit);

 private:
  // The steps at `rows` of the chunk, one per sequence, to which states_ has advanced; gains: (sequences, R),
  // w_t above.
  void VisitSteps(const MixerChunk& chunk, std::span<const int64_t> rows, ConstView gains,
                  const Visit& visit);

  int64_t stride_;
  std::vector<float> out_norms_;  // (R): of the columns of out_proj, factor included
  Buffer states_;                 // (sequences, H*N*P)
  Buffer rows_, gates_, partial_;
};

}  // namespace ghost
