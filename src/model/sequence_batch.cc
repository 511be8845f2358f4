#include "model/sequence_batch.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

SequenceBatch EqualSequences(int64_t rows, int64_t length) {
  GHOST_CHECK(length > 0 && rows % length == 0);
  SequenceBatch batch;
  for (int64_t begin = 0; begin < rows; begin += length) batch.push_back({begin, length});
  return batch;
}

std::vector<SequenceSpan> MixerSpans(const SequenceBatch& batch, int ordinal, const MixerDims& dims,
                                     StateFormat format, Buffer& conv) {
  const int64_t conv_floats = dims.conv_state_floats();
  int64_t stateless = 0;
  for (const SequenceRows& rows : batch) stateless += rows.state ? 0 : 1;
  float* passing = Grow(conv, stateless, conv_floats).data;
  std::vector<SequenceSpan> spans;
  spans.reserve(batch.size());
  for (const SequenceRows& rows : batch) {
    SequenceSpan span{.begin = rows.begin, .length = rows.length, .format = format, .mixer = ordinal};
    const SequenceState* past = rows.state ? rows.state : rows.start;
    if (past) {
      GHOST_CHECK(past->type() == format.type);
      span.position = past->position();
    }
    if (rows.state) {
      span.conv = rows.state->conv(ordinal);
      span.state = rows.state->state(ordinal);
    } else {
      span.conv = passing;
      passing += conv_floats;
      if (past) {
        std::copy_n(past->conv(ordinal), conv_floats, span.conv);
        span.start = past->state(ordinal);
      } else {
        std::fill_n(span.conv, conv_floats, 0.0f);
      }
    }
    spans.push_back(span);
  }
  return spans;
}

std::vector<CachedSequence> CachedSequences(const SequenceBatch& batch, int cache) {
  std::vector<CachedSequence> sequences;
  sequences.reserve(batch.size());
  for (const SequenceRows& rows : batch) {
    const SequenceState* past = rows.state ? rows.state : rows.start;
    sequences.push_back({.begin = rows.begin,
                         .length = rows.length,
                         .past = past ? &past->cache(cache) : nullptr,
                         .own = rows.state ? &rows.state->cache(cache) : nullptr});
  }
  return sequences;
}

}  // namespace ghost
