#include "model/sequence_state.h"

#include "model/config.h"

namespace ghost {
namespace {

// Parts start on cache lines.
int64_t RoundUp(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

SequenceState::SequenceState(const ModelConfig& config) {
  int64_t total = 0;
  for (const MixerDims& dims : config.mixers) {
    const int64_t conv = total;
    const int64_t state = conv + RoundUp(dims.conv_state_floats());
    offsets_.push_back({conv, state});
    total = state + RoundUp(dims.state_floats());
  }
  memory_ = Buffer(total);
  for (const int width : CacheWidths(config)) caches_.emplace_back(width);
}

void SequenceState::Reset() {
  memory_.Zero();
  for (KeyValueCache& cache : caches_) cache.Clear();
}

void SequenceState::CopyFrom(const SequenceState& other) {
  memory_.CopyFrom(other.memory_);
  for (size_t q = 0; q < caches_.size(); ++q) caches_[q].CopyFrom(other.caches_[q]);
}

int64_t SequenceState::bytes() const {
  int64_t bytes = memory_.size() * static_cast<int64_t>(sizeof(float));
  for (const KeyValueCache& cache : caches_) bytes += cache.bytes();
  return bytes;
}

SequenceSpan SequenceState::Span(int mixer, int64_t begin, int64_t length) {
  const Offsets& at = offsets_[static_cast<size_t>(mixer)];
  return {begin, length, memory_.data() + at.conv, memory_.data() + at.state};
}

std::vector<float> SequenceState::ExportSsmState(const MixerDims& dims, int mixer) const {
  const float* from = memory_.data() + offsets_[static_cast<size_t>(mixer)].state;
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
