// The sequences of one pass: which rows are whose, and the states that they continue.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/scan/sequence_span.h"
#include "model/parts/mixer.h"
#include "model/sequence_state.h"
#include "tensor/buffer.h"

namespace ghost {

// Rows [begin, begin + length) of the batch belong to one sequence. It continues `state`, which moves
// forward. If `state` is null, it starts from `start`, which stays as it is (null: from zeros), and its final
// state is discarded.
struct SequenceRows {
  int64_t begin = 0;
  int64_t length = 0;
  SequenceState* state = nullptr;
  const SequenceState* start = nullptr;
};

using SequenceBatch = std::vector<SequenceRows>;

// `rows` / `length` sequences of equal length, each from zeros.
SequenceBatch EqualSequences(int64_t rows, int64_t length);

// The sequences as the kernels of mixer `ordinal` want them. `conv` gets the convolution inputs of sequences
// without a state of their own; it must live as long as the result. All states are of format.type.
std::vector<SequenceSpan> MixerSpans(const SequenceBatch& batch, int ordinal, const MixerDims& dims,
                                     StateFormat format, Buffer& conv);

// One sequence in a call of a part with a cache of keys and values.
struct CachedSequence {
  int64_t begin = 0;
  int64_t length = 0;
  const KeyValueCache* past = nullptr;  // what came before; null: nothing
  KeyValueCache* own = nullptr;         // gains the new tokens; null: they are discarded
};
std::vector<CachedSequence> CachedSequences(const SequenceBatch& batch, int cache);

}  // namespace ghost
