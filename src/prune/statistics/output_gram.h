// What state channels give to the layer's output together: how large the change is when a set of them goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prune/statistics/statistic.h"
#include "tensor/buffer.h"

namespace ghost {

// For every group an (N, N) matrix over sampled steps t,
//   gram[i][k] = sum_t C'_t[i] C'_t[k] sum_{h,p} w_t[h,p]^2 state_t[h,i,p] state_t[h,k,p]
// with w_t[h,p] = the gate (and norm) of channel (h, p) at step t, times the norm of that column of out_proj.
// The sum over a set of rows and the same columns, divided by steps(), is the mean square of what the layer's
// output loses without these channels, if columns of out_proj were orthogonal. Cross terms count: channels
// that cancel each other, or that say the same, are not independent losses.
class OutputGram final : public LayerStatistic {
 public:
  // Every `stride`-th step of a sequence is a sample.
  OutputGram(const MixerDims& dims, int64_t stride);

  bool needs_scan() const override { return true; }
  void Add(const MixerChunk& chunk) override;

  std::span<const double> gram(int group) const { return grams_[static_cast<size_t>(group)]; }
  int64_t steps() const { return steps_; }

 private:
  // Adds the step at `row` of the chunk, to which `sequence` has advanced its state; weights: (R), w_t above.
  void AddStep(const MixerChunk& chunk, int64_t sequence, int64_t row, const float* weights);

  int64_t stride_;
  std::vector<std::vector<double>> grams_;  // (G)(N, N)
  std::vector<float> out_norms_;            // (R): of the columns of out_proj, factor included
  int64_t steps_ = 0;
  Buffer states_;  // (sequences, H*N*P)
  Buffer rows_, gates_, scaled_, products_;
};

}  // namespace ghost
