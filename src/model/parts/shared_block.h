// The transformer block that several layers of Zamba2 share: attention and MLP over the residual stream
// joined with the token embeddings. There is no residual path inside; the result only adds to what the norm
// of the layer's step sees.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/part.h"
#include "model/parts/attention.h"
#include "model/parts/mlp.h"

namespace ghost {

// One set of shared weights.
struct SharedBlockDims {
  AttentionDims attention;  // reads 2M
  MlpDims mlp;
  float eps = 1e-5f;  // of both norms
  PartNames names;
};

template <class Slot>
struct SharedBlockTensors {
  Slot input_norm;  // (2M): of the residual stream joined with the embeddings
  AttentionTensors<Slot> attention;
  Slot mlp_norm;  // (M)
  MlpTensors<Slot> mlp;
};
using SharedBlockWeights = SharedBlockTensors<Tensor>;

template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const SharedBlockDims& d, Visit&& visit) {
  const int64_t M = d.mlp.d_model;
  visit(w.input_norm, TensorRow{d.names.Of("input_layernorm.weight"), {2 * M}});
  ForEachTensor(w.attention, d.attention, visit);
  visit(w.mlp_norm, TensorRow{d.names.Of("pre_ff_layernorm.weight"), {M}});
  ForEachTensor(w.mlp, d.mlp, visit);
}

// One layer's use of a shared block, with what that layer has for itself.
struct SharedUseDims {
  int block = 0;                    // which shared block
  int number = 0;                   // counts the uses; also the sequence's cache and the adapters' index
  int adapter_rank = 0;             // of what the layer adds to the shared projections
  bool attention_adapters = false;  // q, k and v too; gate_up always
  TensorNames link;                 // (M, M): from the block's output to the step's input
};

template <class Slot>
struct SharedUseTensors {
  AdapterTensors<Slot> q, k, v;  // optional
  AdapterTensors<Slot> gate_up;
  Slot link;  // (M, M)
};
using SharedUseWeights = SharedUseTensors<Tensor>;

// The adapters of use `number` are in lists inside the shared block, at that index.
template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const SharedUseDims& use, const SharedBlockDims& block, Visit&& visit) {
  const AttentionDims& a = block.attention;
  const int64_t M = block.mlp.d_model, rank = use.adapter_rank;
  const auto adapter = [&](auto& pair, const std::string& list, int64_t inputs, int64_t outputs) {
    const PartNames entry = block.names.Inside(list + "." + std::to_string(use.number) + ".");
    visit(pair.down, TensorRow{entry.Of("0.weight"), {rank, inputs}, /*is_matrix=*/true});
    visit(pair.up, TensorRow{entry.Of("1.weight"), {outputs, rank}, /*is_matrix=*/true});
  };
  if (use.attention_adapters) {
    adapter(w.q, "self_attn.linear_q_adapter_list", 2 * M, a.query_width());
    adapter(w.k, "self_attn.linear_k_adapter_list", 2 * M, a.kv_width());
    adapter(w.v, "self_attn.linear_v_adapter_list", 2 * M, a.kv_width());
  }
  adapter(w.gate_up, "feed_forward.gate_up_proj_adapter_list", M, 2 * int64_t{block.mlp.width});
  visit(w.link, TensorRow{use.link, {M, M}, /*is_matrix=*/true});
}

PartCost CostOf(const SharedUseDims& use, const SharedBlockDims& block);

// Ready to run: matrices stay as stored (and mapped), the small vectors are float32.
struct SharedBlock {
  SharedBlockDims dims;
  Attention attention;
  Mlp mlp;
  std::vector<float> input_norm, mlp_norm;
};
SharedBlock MakeSharedBlock(const SharedBlockDims& dims, const SharedBlockWeights& weights);

class SharedBlockInput final : public InputPart {
 public:
  SharedBlockInput(std::shared_ptr<const SharedBlock> block, SharedUseDims use, SharedUseWeights own)
      : block_(std::move(block)), use_(std::move(use)), own_(std::move(own)) {}

  void Forward(ConstView hidden, const Pass& pass, Workspace& workspace, View input) const override;
  void Backward(const BackwardCall& call, ConstView dinput, View dhidden, View dembedded) const override;

 private:
  AttentionAdapters adapters() const { return {&own_.q, &own_.k, &own_.v}; }

  std::shared_ptr<const SharedBlock> block_;
  SharedUseDims use_;
  SharedUseWeights own_;
};

}  // namespace ghost
