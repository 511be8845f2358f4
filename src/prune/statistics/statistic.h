// What a method measures in a layer on calibration data. A statistic is fed chunk by chunk, in a fixed order,
// and is read by the method's decision. A new one is a class behind this interface; the driver knows none of
// them. Chunks may be spread over the processes of a team (base/team.h); sums over them go through
// base/ordered_sums.h, so that their bits do not depend on how.
#pragma once

#include <cstdint>

#include "kernels/scan/ssm_scan.h"
#include "model/parts/mixer.h"
#include "tensor/view.h"

namespace ghost {

// Where a chunk is among those of the whole calibration.
struct ChunkPlace {
  int64_t number = 0;
  int64_t first_sample = 0;
};

// One chunk of a mixer's dense forward pass: T rows of some whole samples, all of one length.
struct MixerChunk {
  const Mixer& mixer;
  ConstView normed;  // (T, M): what the input projection sees
  // x', B', C', step sizes, decay and groups, with the samples as sequences that start from empty states;
  // null unless the statistic needs it. A statistic that wants outputs, energies or final states runs the
  // scan on it.
  const ScanInput* scan = nullptr;
  View y;  // (T, R): room for the output of such a scan
  ChunkPlace place;
};

class LayerStatistic {
 public:
  virtual ~LayerStatistic() = default;
  // Whether chunks must come with `scan`; `normed` alone costs a norm, not half a forward pass.
  virtual bool needs_scan() const = 0;
  // Once for every chunk of this process' share, in the order of their numbers.
  virtual void Add(const MixerChunk& chunk) = 0;
  // All processes together, behind the last Add: what the statistic gives is then that of all chunks, on
  // every process.
  virtual void Combine() = 0;
};

}  // namespace ghost
