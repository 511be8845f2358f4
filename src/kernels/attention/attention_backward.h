// Gradients of causal attention (attention.h).
#pragma once

#include "kernels/attention/attention.h"

namespace ghost {

// The inputs and the output of CausalAttention, and the gradient of the output.
struct AttentionBackwardInput {
  ConstView q, k, v;    // (T, heads * d), (T, kv_heads * d) twice
  ConstView out, dout;  // (T, heads * d)
};

struct AttentionGradients {
  View q, k, v;  // as above; the rows of all sequences are overwritten
};

// Sequences have no past. With p the probabilities, recomputed block by block:
//   dv_s  = sum_t p_ts dout_t
//   ds_ts = p_ts (dout_t . v_s - dout_t . out_t)
//   dq_t  = scale sum_s ds_ts k_s
//   dk_s  = scale sum_t ds_ts q_t
// dk and dv are summed over the query heads of their key-value head, in head order. Each key-value
// head of a sequence is one parallel task, so results do not depend on the number of threads. The
// gradients overlap nothing.
void CausalAttentionBackward(const AttentionShape& shape, const AttentionBackwardInput& in,
                             std::span<const AttentionSpan> sequences, const AttentionGradients& gradients);

}  // namespace ghost
