#include "kernels/attention/attention_backward.h"

#include "base/threads.h"
#include "kernels/attention/attention_backward_simd.h"
#include "kernels/simd/scratch.h"

namespace ghost {

void CausalAttentionBackward(const AttentionShape& shape, const AttentionBackwardInput& in,
                             std::span<const AttentionSpan> sequences, const AttentionGradients& gradients) {
  GHOST_CHECK(shape.head_dim >= 1 && shape.kv_heads >= 1 && shape.heads % shape.kv_heads == 0);
  const int64_t T = in.q.rows, G = shape.kv_heads, d = shape.head_dim, wide = shape.heads * d, narrow = G * d;
  for (const ConstView view : {in.q, in.out, in.dout, ConstView(gradients.q)})
    GHOST_CHECK(view.rows == T && view.cols == wide);
  for (const ConstView view : {in.k, in.v, ConstView(gradients.k), ConstView(gradients.v)})
    GHOST_CHECK(view.rows == T && view.cols == narrow);
  int64_t pairs = 0;  // of a query and a key
  for (const AttentionSpan& s : sequences) {
    GHOST_CHECK(s.past == 0 && s.begin >= 0 && s.length >= 0 && s.begin + s.length <= T);
    pairs += s.length * s.length;
  }
  const int group = shape.heads / shape.kv_heads;
  const auto head = [&](int64_t item) {
    const AttentionSpan& s = sequences[static_cast<size_t>(item / G)];
    const int64_t column = item % G * d;
    const auto of_queries = [&](auto view) {
      return view.Rows(s.begin, s.length).Cols(column * group, d * group);
    };
    const auto of_keys = [&](auto view) { return view.Rows(s.begin, s.length).Cols(column, d); };
    const AttentionHeadBackward work = {.d = shape.head_dim,
                                        .group = group,
                                        .scale = shape.scale,
                                        .q = of_queries(in.q),
                                        .k = of_keys(in.k),
                                        .v = of_keys(in.v),
                                        .out = of_queries(in.out),
                                        .dout = of_queries(in.dout),
                                        .dq = of_queries(gradients.q),
                                        .dk = of_keys(gradients.k),
                                        .dv = of_keys(gradients.v)};
    AttentionBackward(work,
                      ThreadScratch(0, AttentionBackwardScratchFloats(shape.head_dim, group, s.length)));
  };
  ParallelFor(static_cast<int64_t>(sequences.size()) * G, head, /*work=*/pairs * wide * 3);
}

}  // namespace ghost
