// How sequences lie in a batch. The rows of all sequences stand one below the other in every activation
// matrix, so that matrix products see one tall matrix; convolution and scan take the sequences one by one.
#pragma once

#include <cstdint>

namespace ghost {

// Tokens [begin, begin + length) of the batch belong to one sequence, whose running state lives in the two
// buffers (updated in place). Decoding is length 1; a prompt, or a piece of one, is longer. A sequence
// without `state` starts from `start`, which stays as it is, and where it ends is forgotten; no other
// sequence of the batch may have `start` as its state.
struct SequenceSpan {
  int64_t begin = 0;
  int64_t length = 0;
  float* conv = nullptr;         // (W-1, C): the last inputs of the convolution, oldest first
  float* state = nullptr;        // (H, N_g, P): per head its group's state channels, each a run of P floats
  const float* start = nullptr;  // the same; null: zeros. Only read when `state` is null.
};

}  // namespace ghost
