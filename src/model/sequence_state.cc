#include "model/sequence_state.h"

#include <algorithm>

namespace ghost {
namespace {

// Parts start on cache lines.
int64_t RoundUp(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

int64_t LayerStateFloats(const BlockDims& dims) {
  return RoundUp(dims.conv_state_floats()) + RoundUp(dims.state_floats());
}

SequenceSpan LayerStateSpan(const BlockDims& dims, float* memory, int64_t begin, int64_t length) {
  return {begin, length, memory, memory + RoundUp(dims.conv_state_floats())};
}

SequenceState::SequenceState(const ModelConfig& config) : dims_(config.blocks) {
  int64_t total = 0;
  for (const BlockDims& dims : dims_) {
    offsets_.push_back(total);
    total += LayerStateFloats(dims);
  }
  memory_ = Buffer(total);
}

SequenceSpan SequenceState::Span(int layer, int64_t begin, int64_t length) {
  const auto at = static_cast<size_t>(layer);
  return LayerStateSpan(dims_[at], memory_.data() + offsets_[at], begin, length);
}

void SequenceState::CopyLayer(int layer, float* to) const {
  const auto at = static_cast<size_t>(layer);
  std::copy_n(memory_.data() + offsets_[at], LayerStateFloats(dims_[at]), to);
}

std::vector<float> SequenceState::ExportSsmState(const BlockDims& dims, int layer) const {
  const float* from =
      memory_.data() + offsets_[static_cast<size_t>(layer)] + RoundUp(dims.conv_state_floats());
  std::vector<float> out;
  out.reserve(static_cast<size_t>(dims.state_floats()));
  const int P = dims.head_dim;
  for (int h = 0; h < dims.num_heads; ++h) {
    const int N = dims.group_size(dims.group_of_head(h));
    for (int p = 0; p < P; ++p) {
      for (int n = 0; n < N; ++n) out.push_back(from[n * P + p]);
    }
    from += int64_t{N} * P;
  }
  return out;
}

}  // namespace ghost
