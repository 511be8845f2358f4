// What a mixer reads and gives on the calibration data, kept whole for methods that fit weights to it.
#pragma once

#include <cstdint>

#include "prune/statistics/input_moments.h"
#include "prune/statistics/output_gram.h"
#include "prune/statistics/statistic.h"
#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// Inputs and outputs take 2 * tokens * M floats, on every process of a team: fitting reads them in an order
// of its own. With them come the statistics that choose channels and scale directions of the input.
class MixerRecord final : public LayerStatistic {
 public:
  MixerRecord(const MixerDims& dims, int64_t samples, int64_t length);

  bool needs_scan() const override { return true; }
  void Add(const MixerChunk& chunk) override;
  void Combine() override;

  // Valid after Combine.
  int64_t length() const { return length_; }                              // of a sample
  ConstView inputs() const { return {inputs_.data(), rows_, width_}; }    // (T, M): after the norm
  ConstView outputs() const { return {outputs_.data(), rows_, width_}; }  // (T, M): what the mixer adds
  const OutputGram& gram() const { return gram_; }
  const InputMoments& moments() const { return moments_; }

 private:
  int64_t length_, width_, rows_;
  int64_t first_row_ = 0, end_row_ = 0;  // what this process has seen
  Buffer inputs_, outputs_, z_;
  OutputGram gram_;
  InputMoments moments_;
};

}  // namespace ghost
