#include "prune/statistics/mixer_record.h"

#include "base/check.h"
#include "base/team.h"
#include "kernels/rows/gather.h"
#include "model/parts/mixer_forward.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

MixerRecord::MixerRecord(const MixerDims& dims, int64_t samples, int64_t length)
    : length_(length),
      width_(dims.d_model),
      rows_(samples * length),
      inputs_(samples * length * dims.d_model),
      outputs_(samples * length * dims.d_model),
      gram_(dims, SampleStride(samples * length, length)),
      moments_(dims.d_model) {}

void MixerRecord::Add(const MixerChunk& chunk) {
  const Mixer& m = chunk.mixer;
  const int64_t T = chunk.normed.rows;
  const int64_t row = chunk.place.first_sample * length_;
  if (end_row_ == 0) first_row_ = end_row_ = row;
  GHOST_CHECK(row == end_row_ && row + T <= rows_);
  gram_.Add(chunk);  // overwrites chunk.y
  moments_.Add(chunk);
  CopyRows(chunk.normed, View(inputs_.data() + row * width_, T, width_));
  const View z = Grow(z_, T, m.dims.d_inner());
  ProjectGate(m, chunk.normed, z);
  SsmScan(*chunk.scan, chunk.y);
  GateAndNorm(m, chunk.y, z, chunk.y);
  AddProjectedOut(m, chunk.y, View(outputs_.data() + row * width_, T, width_));  // onto zeros
  end_row_ += T;
}

void MixerRecord::Combine() {
  gram_.Combine();
  moments_.Combine();
  for (const Buffer* rows : {&inputs_, &outputs_})
    JoinParts(rows->span(), static_cast<size_t>(first_row_ * width_), static_cast<size_t>(end_row_ * width_));
}

}  // namespace ghost
