// What state channels give to the layer's output together: how large the change is when a set of them goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prune/statistics/statistic.h"
#include "prune/statistics/step_sampler.h"

namespace ghost {

// For every group an (N, N) matrix over sampled steps t,
//   gram[i][k] = sum_t C'_t[i] C'_t[k] P_t[i][k]        with P_t of step_sampler.h
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
  StepSampler sampler_;
  std::vector<std::vector<double>> grams_;  // (G)(N, N)
  int64_t steps_ = 0;
};

}  // namespace ghost
