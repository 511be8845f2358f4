// Causal attention with a cache of keys and values: sizes, tensors, forward and backward. Used as a part of
// a step, and inside a shared block.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "model/part.h"
#include "model/part_cost.h"
#include "model/parts/adapter.h"
#include "model/tensor_row.h"

namespace ghost {

struct AttentionDims {
  int d_input = 0;          // width of what it reads
  int d_model = 0;          // M: width of what it gives
  int num_heads = 0;        // of queries
  int num_kv_heads = 0;     // of keys and values, a divisor of num_heads
  int head_dim = 0;         // d
  float scale = 1.0f;       // of the products q . k
  double rope_theta = 0.0;  // 0: no position embedding
  PartNames names;

  int query_width() const { return num_heads * head_dim; }
  int kv_width() const { return num_kv_heads * head_dim; }
};

template <class Slot>
struct AttentionTensors {
  Slot q, k, v;  // (heads * d, inputs), and for k and v of their own heads
  Slot out;      // (M, heads * d)
};
using AttentionWeights = AttentionTensors<Tensor>;

template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const AttentionDims& d, Visit&& visit) {
  const auto row = [&](auto& slot, const char* local, const char* gguf, int64_t rows, int64_t cols) {
    visit(slot, TensorRow{d.names.Of(local, gguf), {rows, cols}, /*is_matrix=*/true});
  };
  row(w.q, "q_proj.weight", "attn_q.weight", d.query_width(), d.d_input);
  row(w.k, "k_proj.weight", "attn_k.weight", d.kv_width(), d.d_input);
  row(w.v, "v_proj.weight", "attn_v.weight", d.kv_width(), d.d_input);
  row(w.out, "o_proj.weight", "attn_output.weight", d.d_model, d.query_width());
}

PartCost CostOf(const AttentionDims& dims);

// Low-rank additions to the projections of queries, keys and values; null or empty: none.
struct AttentionAdapters {
  const AdapterWeights *q = nullptr, *k = nullptr, *v = nullptr;
};

// What one call leaves, T rows each, and scratch; grows to the largest request.
struct AttentionMemory {
  Buffer q, k, v, attended;
  AdapterMemory adapters;
};
struct AttentionBackwardMemory {
  Buffer dq, dk, dv, dattended;
  AdapterMemory adapters;
};

// What attention gives before its output projection, (T, heads * d). Caches gain the new tokens.
ConstView Attend(const AttentionDims& dims, const AttentionWeights& w, const AttentionAdapters& adapters,
                 ConstView input, std::span<const CachedSequence> sequences, AttentionMemory& memory);

// From the gradient of the output after its projection, (T, M): adds that of the input to dinput. `memory` is
// as Attend left it; sequences have no past.
void AttendBackward(const AttentionDims& dims, const AttentionWeights& w, const AttentionAdapters& adapters,
                    std::span<const CachedSequence> sequences, AttentionMemory& memory, ConstView dout,
                    AttentionBackwardMemory& scratch, View dinput);

class AttentionPart final : public Part {
 public:
  // `cache`: which of a sequence's caches is this part's.
  AttentionPart(AttentionDims dims, AttentionWeights weights, int cache)
      : dims_(std::move(dims)), weights_(std::move(weights)), cache_(cache) {}

  void Fill(ConstView normed, const Pass& pass, Workspace& workspace) const override;
  void AddOutput(View hidden, Workspace& workspace) const override;
  void Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                const ModelGradients& gradients) const override;

 private:
  AttentionDims dims_;
  AttentionWeights weights_;
  int cache_;
};

}  // namespace ghost
