// What one sequence carries from token to token: per mixer the convolution's last inputs and the SSM state,
// and per part with attention the keys and values of all tokens.
#pragma once

#include <cstdint>
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
  explicit SequenceState(const ModelConfig& config);

  // The state of a mixer, as the span of a batch in which this sequence owns rows [begin, begin + length).
  SequenceSpan Span(int mixer, int64_t begin, int64_t length);

  // The state of a mixer, for sequences that start from it.
  const float* conv(int mixer) const { return memory_.data() + offsets_[static_cast<size_t>(mixer)].conv; }
  const float* state(int mixer) const { return memory_.data() + offsets_[static_cast<size_t>(mixer)].state; }

  // In the order of CacheWidths.
  KeyValueCache& cache(int i) { return caches_[static_cast<size_t>(i)]; }
  const KeyValueCache& cache(int i) const { return caches_[static_cast<size_t>(i)]; }

  void Reset();
  void CopyFrom(const SequenceState& other);

  // The SSM state of a mixer in the order other implementations use, (H, P, N_g); ours is (H, N_g, P).
  std::vector<float> ExportSsmState(const MixerDims& dims, int mixer) const;

  int64_t bytes() const;  // now; caches grow with the sequence

 private:
  struct Offsets {
    int64_t conv, state;
  };
  std::vector<Offsets> offsets_;
  Buffer memory_;
  std::vector<KeyValueCache> caches_;
};

}  // namespace ghost
