#include "prune/statistics/mixer_record.h"

#include "base/check.h"
#include "kernels/rows/gather.h"
#include "model/parts/mixer_forward.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

MixerRecord::MixerRecord(const MixerDims& dims, int64_t samples, int64_t length)
    : length_(length),
      width_(dims.d_model),
      inputs_(samples * length * dims.d_model),
      outputs_(samples * length * dims.d_model),
      gram_(dims, SampleStride(samples * length, length)),
      moments_(dims.d_model) {}

void MixerRecord::Add(const MixerChunk& chunk) {
  const Mixer& m = chunk.mixer;
  const int64_t T = chunk.normed.rows;
  GHOST_CHECK((rows_ + T) * width_ <= inputs_.size());
  gram_.Add(chunk);  // overwrites chunk.y
  moments_.Add(chunk);
  CopyRows(chunk.normed, View(inputs_.data() + rows_ * width_, T, width_));
  const View z = Grow(z_, T, m.dims.d_inner());
  ProjectGate(m, chunk.normed, z);
  SsmScan(*chunk.scan, chunk.y);
  GateAndNorm(m, chunk.y, z, chunk.y);
  AddProjectedOut(m, chunk.y, View(outputs_.data() + rows_ * width_, T, width_));  // onto zeros
  rows_ += T;
}

}  // namespace ghost
