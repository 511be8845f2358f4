// Causal attention with a cache of keys and values: sizes, tensors, forward and backward. Used as a part of
// a step, and inside a shared block.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "kernels/attention/rope.h"
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
  int rotated = 0;          // channels of a head that it turns, from the first on; even, at most d
  RopePairs rope_pairs = RopePairs::kHalves;
  bool bias = false, out_bias = false;  // of q, k and v; of the output
  // Of the input; of the keys before they are turned, bias included; of the output, bias included.
  float in_factor = 1.0f, key_factor = 1.0f, out_factor = 1.0f;
  PartNames names;

  int query_width() const { return num_heads * head_dim; }
  int kv_width() const { return num_kv_heads * head_dim; }
};

template <class Slot>
struct AttentionTensors {
  Slot q, k, v;                 // (heads * d, inputs), and for k and v of their own heads
  Slot out;                     // (M, heads * d)
  Slot q_bias, k_bias, v_bias;  // optional
  Slot out_bias;                // (M), optional
};
using AttentionWeights = AttentionTensors<Tensor>;

template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const AttentionDims& d, Visit&& visit) {
  const auto row = [&](auto& slot, auto& bias_slot, bool bias, const LocalName& local, int64_t rows,
                       int64_t cols) {
    visit(slot, TensorRow{d.names.Weight(local), {rows, cols}, /*is_matrix=*/true});
    if (bias) visit(bias_slot, TensorRow{d.names.Bias(local), {rows}});
  };
  row(w.q, w.q_bias, d.bias, {.name = "q_proj", .gguf = "attn_q"}, d.query_width(), d.d_input);
  row(w.k, w.k_bias, d.bias, {.name = "k_proj", .gguf = "attn_k"}, d.kv_width(), d.d_input);
  row(w.v, w.v_bias, d.bias, {.name = "v_proj", .gguf = "attn_v"}, d.kv_width(), d.d_input);
  row(w.out, w.out_bias, d.out_bias, {.name = "o_proj", .gguf = "attn_output"}, d.d_model, d.query_width());
}

PartCost CostOf(const AttentionDims& dims);

// Ready to run.
struct Attention {
  AttentionDims dims;
  Linear q, k, v, out;
};
Attention MakeAttention(const AttentionDims& dims, const AttentionWeights& weights);

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
ConstView Attend(const Attention& attention, const AttentionAdapters& adapters, ConstView input,
                 std::span<const CachedSequence> sequences, AttentionMemory& memory);

// From the gradient of the output after its projection, (T, M): adds that of the input to dinput. `memory` is
// as Attend left it; sequences have no past.
void AttendBackward(const Attention& attention, const AttentionAdapters& adapters,
                    std::span<const CachedSequence> sequences, AttentionMemory& memory, ConstView dout,
                    AttentionBackwardMemory& scratch, View dinput);

class AttentionPart final : public Part {
 public:
  // `cache`: which of a sequence's caches is this part's.
  AttentionPart(Attention attention, int cache) : attention_(std::move(attention)), cache_(cache) {}

  void Fill(ConstView normed, const Pass& pass, Workspace& workspace) const override;
  void AddOutput(View hidden, Workspace& workspace) const override;
  void Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                const ModelGradients& gradients) const override;

 private:
  Attention attention_;
  int cache_;
};

}  // namespace ghost
