// What the attention kernels want to know of a shared block and of the sequences of a batch.
#pragma once

#include <span>
#include <vector>

#include "kernels/attention/attention.h"
#include "model/key_value_cache.h"
#include "model/shared_block.h"

namespace ghost {

inline AttentionShape ShapeOf(const SharedBlockDims& dims) {
  return {dims.num_heads, dims.num_kv_heads, dims.head_dim, dims.softmax_scale()};
}

inline std::vector<AttentionSpan> SpansOf(std::span<const AttentionSequence> sequences) {
  std::vector<AttentionSpan> spans;
  for (const AttentionSequence& s : sequences) {
    AttentionSpan span{.begin = s.begin, .length = s.length};
    if (s.past) {
      span.past_keys = s.past->keys();
      span.past_values = s.past->values();
      span.past = s.past->tokens();
    }
    spans.push_back(span);
  }
  return spans;
}

// Of every row of the batch in its sequence.
inline std::vector<int64_t> PositionsOf(std::span<const AttentionSequence> sequences, int64_t rows) {
  std::vector<int64_t> positions(static_cast<size_t>(rows));
  for (const AttentionSequence& s : sequences) {
    const int64_t first = s.past ? s.past->tokens() : 0;
    for (int64_t t = 0; t < s.length; ++t) positions[static_cast<size_t>(s.begin + t)] = first + t;
  }
  return positions;
}

}  // namespace ghost
