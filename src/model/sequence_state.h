// What one sequence carries from token to token: per mixer the convolution's last inputs and the SSM state,
// and per part with attention the keys and values of all tokens. The SSM state may be stored in a small type;
// everything else is float32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/scan/sequence_span.h"
#include "model/key_value_cache.h"
#include "model/parts/mixer.h"
#include "tensor/buffer.h"

namespace ghost {

struct ModelConfig;

// Starts as all zeros and empty caches, which is the empty sequence. One allocation for all mixers' states.
// Not shared between threads.
class SequenceState {
 public:
  explicit SequenceState(const ModelConfig& config, StateType type = StateType::kF32);

  StateType type() const { return type_; }
  // How many tokens it has seen. Random rounding depends on it, so whoever runs tokens counts them.
  int64_t position() const { return position_; }
  void Advance(int64_t tokens) { position_ += tokens; }

  // The state of a mixer, to be updated or for sequences that start from it.
  float* conv(int mixer) { return memory_.data() + offsets_[static_cast<size_t>(mixer)].conv; }
  const float* conv(int mixer) const { return memory_.data() + offsets_[static_cast<size_t>(mixer)].conv; }
  void* state(int mixer) { return memory_.data() + offsets_[static_cast<size_t>(mixer)].state; }
  const void* state(int mixer) const { return memory_.data() + offsets_[static_cast<size_t>(mixer)].state; }

  // In the order of CacheWidths.
  KeyValueCache& cache(int i) { return caches_[static_cast<size_t>(i)]; }
  const KeyValueCache& cache(int i) const { return caches_[static_cast<size_t>(i)]; }

  int num_caches() const { return static_cast<int>(caches_.size()); }

  // The convolution inputs and SSM states of all mixers, to be written and read as they are. Padding between
  // mixers is included, and zero.
  std::span<float> mixers() { return memory_.span(); }
  std::span<const float> mixers() const { return memory_.span(); }

  void Reset();
  void CopyFrom(const SequenceState& other);  // of the same model and type
  // Makes room for the keys and values of so many tokens, so that bytes() stays the same until then.
  void ReserveTokens(int64_t tokens);
  void ReleaseCaches();  // forgets keys and values and gives their memory back

  // The SSM state of a mixer as float32, in the order other implementations use, (H, P, N_g); ours is
  // (H, N_g, P).
  std::vector<float> ExportSsmState(const MixerDims& dims, int mixer) const;

  int64_t bytes() const;  // now; caches grow with the sequence

 private:
  struct Offsets {
    int64_t conv, state;  // in floats
  };
  StateType type_;
  int64_t position_ = 0;
  std::vector<Offsets> offsets_;
  Buffer memory_;
  std::vector<KeyValueCache> caches_;
};

}  // namespace ghost
