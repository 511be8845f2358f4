// Causal attention with an optional past (the cache of keys and values while decoding).
//
// Probabilities are never stored: queries are multiplied by blocks of keys, with a running maximum and sum
// per query (online softmax).
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace ghost {

struct AttentionShape {
  int heads = 0;     // of queries
  int kv_heads = 0;  // divides heads; query head h reads key-value head h / (heads / kv_heads)
  int head_dim = 0;  // d
  float scale = 1;   // of the products q . k
};

// Rows [begin, begin + length) of the batch are one sequence. `past` earlier tokens precede them; their keys
// and values are (past, kv_heads * d), rows without gaps, and null if past is 0.
struct AttentionSpan {
  int64_t begin = 0, length = 0;
  const float *past_keys = nullptr, *past_values = nullptr;
  int64_t past = 0;
};

// out_t = sum_s p_s v_s with p = softmax(scale * q_t . k_s), for each head, over all past tokens and the rows
// of the same sequence up to t. q, out: (T, heads * d); k, v: (T, kv_heads * d). Rows outside all spans are
// left unchanged. Everything is float32; out overlaps nothing. Results depend neither on the number of
// threads nor on the rest of the batch. Infinite or NaN scores make the rows that see them NaN; a non-finite
// value row may also make up to five preceding rows NaN.
void CausalAttention(const AttentionShape& shape, ConstView q, ConstView k, ConstView v,
                     std::span<const AttentionSpan> sequences, View out);

}  // namespace ghost
