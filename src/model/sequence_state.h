// What one sequence carries from token to token: per layer the convolution's last inputs and the SSM state,
// and per hybrid layer the keys and values of all tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/scan/sequence_span.h"
#include "model/config.h"
#include "model/key_value_cache.h"
#include "tensor/buffer.h"

namespace ghost {

// Starts as all zeros and empty caches, which is the empty sequence. One allocation for all layers' states.
// Not shared between threads.
class SequenceState {
 public:
  explicit SequenceState(const ModelConfig& config);

  // The state of `layer`, as the span of a batch in which this sequence owns rows [begin, begin + length).
  SequenceSpan Span(int layer, int64_t begin, int64_t length);

  // The parts of `layer`, for sequences that start from this state.
  const float* conv(int layer) const { return memory_.data() + offsets_[static_cast<size_t>(layer)].conv; }
  const float* state(int layer) const { return memory_.data() + offsets_[static_cast<size_t>(layer)].state; }

  // Of the q-th hybrid layer.
  KeyValueCache& cache(int q) { return caches_[static_cast<size_t>(q)]; }
  const KeyValueCache& cache(int q) const { return caches_[static_cast<size_t>(q)]; }

  void Reset();
  void CopyFrom(const SequenceState& other);

  // The SSM state of a layer in the order other implementations use, (H, P, N_g); ours is (H, N_g, P).
  std::vector<float> ExportSsmState(const BlockDims& dims, int layer) const;

  int64_t bytes() const;  // now; caches grow with the sequence

 private:
  struct Offsets {
    int64_t conv, state;
  };
  std::vector<Offsets> offsets_;
  Buffer memory_;
  std::vector<KeyValueCache> caches_;  // one per hybrid layer
};

}  // namespace ghost
