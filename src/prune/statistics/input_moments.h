// Second moments of what the input projection sees, for methods that change its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ordered_sums.h"
#include "prune/statistics/statistic.h"
#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// The sum over tokens of v v^T, (M, M) in float64.
class InputMoments final : public LayerStatistic {
 public:
  explicit InputMoments(int64_t width);

  bool needs_scan() const override { return false; }
  void Add(const MixerChunk& chunk) override { Add(chunk.normed, chunk.place.number); }
  // rows: (T, M). Products in float32 within a call, sums of calls in float64.
  void Add(ConstView rows, int64_t number);
  void Combine() override;

  int64_t width() const { return width_; }
  const std::vector<double>& sums() const { return sums_; }  // valid after Combine

 private:
  int64_t width_;
  std::vector<double> sums_;
  OrderedSums<double> chunks_;
  Buffer products_;
};

}  // namespace ghost
