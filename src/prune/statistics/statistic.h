// What a method measures in a layer on calibration data. A statistic is fed chunk by chunk, in a fixed order,
// and is read by the method's decision. A new one is a class behind this interface; the driver knows none of
// them.
#pragma once

#include "kernels/scan/ssm_scan.h"
#include "model/parts/mixer.h"
#include "tensor/view.h"

namespace ghost {

// One chunk of a mixer's dense forward pass: T rows of some whole samples, all of one length.
struct MixerChunk {
  const Mixer& mixer;
  ConstView normed;  // (T, M): what the input projection sees
  // x', B', C', step sizes, decay and groups, with the samples as sequences that start from empty states;
  // null unless the statistic needs it. A statistic that wants outputs, energies or final states runs the
  // scan on it.
  const ScanInput* scan = nullptr;
  View y;  // (T, R): room for the output of such a scan
};

class LayerStatistic {
 public:
  virtual ~LayerStatistic() = default;
  // Whether chunks must come with `scan`; `normed` alone costs a norm, not half a forward pass.
  virtual bool needs_scan() const = 0;
  virtual void Add(const MixerChunk& chunk) = 0;
};

}  // namespace ghost
