#include "model/sequence_state.h"

#include "base/check.h"
#include "kernels/scan/stored_head.h"
#include "model/config.h"

namespace ghost {
namespace {

// Parts start on cache lines.
int64_t RoundUp(int64_t floats) { return (floats + 15) / 16 * 16; }

int64_t StoredFloats(const MixerDims& dims, StateType type) {
  return (StateBytes(type, dims.head_channels(), dims.head_dim) + 3) / 4;
}

}  // namespace

SequenceState::SequenceState(const ModelConfig& config, StateType type) : type_(type) {
  int64_t total = 0;
  for (const MixerDims& dims : config.mixers) {
    const int64_t conv = total;
    const int64_t state = conv + RoundUp(dims.conv_state_floats());
    offsets_.push_back({conv, state});
    total = state + RoundUp(StoredFloats(dims, type));
  }
  memory_ = Buffer(total);
  for (const int width : CacheWidths(config)) caches_.emplace_back(width);
}

void SequenceState::Reset() {
  memory_.Zero();
  position_ = 0;
  for (KeyValueCache& cache : caches_) cache.Clear();
}

void SequenceState::ReserveTokens(int64_t tokens) {
  for (KeyValueCache& cache : caches_) cache.Reserve(tokens);
}

void SequenceState::ReleaseCaches() {
  for (KeyValueCache& cache : caches_) cache.Release();
}

void SequenceState::CopyFrom(const SequenceState& other) {
  GHOST_CHECK(type_ == other.type_);
  memory_.CopyFrom(other.memory_);
  position_ = other.position_;
  for (size_t q = 0; q < caches_.size(); ++q) caches_[q].CopyFrom(other.caches_[q]);
}

int64_t SequenceState::bytes() const {
  int64_t bytes = memory_.size() * static_cast<int64_t>(sizeof(float));
  for (const KeyValueCache& cache : caches_) bytes += cache.bytes();
  return bytes;
}

std::vector<float> SequenceState::ExportSsmState(const MixerDims& dims, int mixer) const {
  std::vector<float> ours(static_cast<size_t>(dims.state_floats()));
  WidenState(type_, state(mixer), dims.head_channels(), dims.head_dim, ours.data());
  const float* from = ours.data();
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
