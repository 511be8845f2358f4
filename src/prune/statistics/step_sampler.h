// Sampled steps of a mixer's recurrence: the states there, as the layer's output sees them.
#pragma once

#include <cstdint>
#include <functional>
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

  // Hears for every sampled step t and group of P_t: (N, N) and C'_t: (N), where
  //   P_t[i][k] = sum_{h,p} w_t[h,p]^2 state_t[h,i,p] state_t[h,k,p]
  // over the group's heads, with w_t[h,p] = the gate (and norm) of channel (h, p) at step t, times the norm
  // of that column of out_proj. A change e of C'_t changes the layer's output by e^T P_t e, if columns of
  // out_proj were orthogonal and the norm's divisor fixed.
  using Visit = std::function<void(int group, ConstView p, const float* c)>;
  // The number of sampled steps. chunk.y is overwritten.
  int64_t Run(const MixerChunk& chunk, const Visit& visit);

 private:
  // The step at `row` of the chunk, to which `sequence` has advanced its state; weights: (R), w_t above.
  void VisitStep(const MixerChunk& chunk, int64_t sequence, int64_t row, const float* weights,
                 const Visit& visit);

  int64_t stride_;
  std::vector<float> out_norms_;  // (R): of the columns of out_proj, factor included
  Buffer states_;                 // (sequences, H*N*P)
  Buffer rows_, gates_, scaled_, products_;
};

}  // namespace ghost
