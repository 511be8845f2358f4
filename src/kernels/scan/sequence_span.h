// Where the sequences of a batch are. Every activation matrix holds the rows of all sequences one after the
// other, so that matrix products see one tall matrix; convolution and scan process the sequences one by one.
#pragma once

#include <cstdint>

#include "kernels/scan/state_type.h"

namespace ghost {

// Tokens [begin, begin + length) of the batch belong to one sequence, whose running state is in the two
// buffers (updated in place). Decoding has length 1; a prompt, or a piece of one, is longer. If `state` is
// null, the sequence starts from `start`, which is not modified, and its final state is discarded; no other
// sequence of the batch may use `start` as its state.
struct SequenceSpan {
  int64_t begin = 0;
  int64_t length = 0;
  float* conv = nullptr;        // (W-1, C): the last inputs of the convolution, oldest first
  void* state = nullptr;        // (H, N_g, P): per head its group's state channels, each a run of P elements
                                // of format.type: float32 unless it says otherwise (stored_head.h)
  const void* start = nullptr;  // the same; null: zeros. Only read when `state` is null.
  StateFormat format = {};
  // What random rounding depends on: the number of tokens of the sequence before `begin`, and the mixer.
  int64_t position = 0;
  int mixer = 0;
};

}  // namespace ghost
