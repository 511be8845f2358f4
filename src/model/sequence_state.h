// What one sequence carries from token to token: per layer the convolution's last inputs and the SSM state.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sequence_span.h"
#include "model/config.h"
#include "tensor/buffer.h"

namespace ghost {

// The memory of one layer's part of a state, and that part as the span of a batch in which the sequence owns
// rows [begin, begin + length).
int64_t LayerStateFloats(const BlockDims& dims);
SequenceSpan LayerStateSpan(const BlockDims& dims, float* memory, int64_t begin, int64_t length);

// Starts as all zeros, which is the empty sequence. One allocation for all layers. Not shared between
// threads.
class SequenceState {
 public:
  explicit SequenceState(const ModelConfig& config);

  // The state of `layer`, as the span of a batch in which this sequence owns rows [begin, begin + length).
  SequenceSpan Span(int layer, int64_t begin, int64_t length);

  // Copies the part of `layer`, LayerStateFloats of them.
  void CopyLayer(int layer, float* to) const;

  void Reset() { memory_.Zero(); }
  void CopyFrom(const SequenceState& other) { memory_.CopyFrom(other.memory_); }

  // The SSM state of a layer in the order other implementations use, (H, P, N_g); ours is (H, N_g, P).
  std::vector<float> ExportSsmState(const BlockDims& dims, int layer) const;

  int64_t bytes() const { return memory_.size() * static_cast<int64_t>(sizeof(float)); }

 private:
  std::vector<BlockDims> dims_;
  std::vector<int64_t> offsets_;  // where each layer's part begins
  Buffer memory_;
};

}  // namespace ghost
