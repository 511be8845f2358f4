// What state channels give to the layer's output together: how large the change is when a set of them goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ordered_sums.h"
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
  void Combine() override { chunks_.Combine(sums_); }

  // Valid after Combine.
  std::span<const double> gram(int group) const {
    const size_t begin = begins_[static_cast<size_t>(group)], end = begins_[static_cast<size_t>(group) + 1];
    return std::span(sums_).subspan(begin, end - begin);
  }
  int64_t steps() const { return static_cast<int64_t>(sums_.back()); }

 private:
  StepSampler sampler_;
  std::vector<size_t> begins_ = {0};  // (G + 1): of each group's matrix
  std::vector<double> sums_;          // the matrices, (N, N) each, then the number of steps
  OrderedSums<double> chunks_{0};     // the same
};

}  // namespace ghost
