// How strongly directions of the state are driven, and how strongly they are read, over sampled steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ordered_sums.h"
#include "prune/statistics/statistic.h"
#include "prune/statistics/step_sampler.h"

namespace ghost {

// Per group, with P_t and C'_t of step_sampler.h:
//   P = sum_t |C'_t|^2 P_t        Q = sum_t tr(P_t) C'_t C'_t^T        (N, N), float64
// and some of the steps themselves, on which the error of a map can be measured.
class BalanceMoments final : public LayerStatistic {
 public:
  // For a calibration of `tokens` tokens.
  BalanceMoments(const MixerDims& dims, int64_t tokens, int64_t length);

  bool needs_scan() const override { return true; }
  void Add(const MixerChunk& chunk) override;
  void Combine() override;

  // Valid after Combine.
  std::span<const double> p(int group) const { return groups_[static_cast<size_t>(group)].p; }
  std::span<const double> q(int group) const { return groups_[static_cast<size_t>(group)].q; }

  // errors[r], r = 0..N: the mean over kept steps of e^T P_t e with e = C'_t - sum_{i<r} v_i (w_i . C'_t),
  // the square of what the layer's output loses with r channels. v, w: (N, N), v_i and w_i as rows, w_i . v_k
  // = [i = k]. All processes together, as each has kept the steps of its own chunks.
  std::vector<double> Errors(int group, std::span<const double> v, std::span<const double> w) const;

 private:
  struct Group {
    int64_t size = 0;           // N
    std::vector<double> p, q;   // (N, N)
    std::vector<float> kept_p;  // per kept step the lower triangle of P_t
    std::vector<float> kept_c;  // and C'_t
  };
  // The kept steps [begin, end) of one chunk, the same for all groups.
  struct KeptChunk {
    int64_t number = 0, begin = 0, end = 0;
  };

  static void Keep(const StepSampler::Sample& sample, Group& group);
  // The sums of AddErrors over one chunk.
  std::vector<double> ChunkErrors(const KeptChunk& chunk, const Group& group, std::span<const double> v,
                                  std::span<const double> w) const;

  StepSampler sampler_;
  int64_t steps_per_sample_ = 0, total_steps_ = 0;  // sampled
  int64_t keep_every_ = 1;                          // of the sampled steps, counted over all samples
  std::vector<Group> groups_;
  std::vector<KeptChunk> kept_;
  OrderedSums<double> chunks_{0};  // p and q of all groups
};

}  // namespace ghost
