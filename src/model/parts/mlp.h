// The gated MLP: sizes, tensors, forward and backward. Used as a part of a step, and inside a shared block.
#pragma once

#include <utility>
#include <vector>

#include "model/part.h"
#include "model/part_cost.h"
#include "model/parts/adapter.h"
#include "model/tensor_row.h"

namespace ghost {

struct MlpDims {
  int d_model = 0;  // M
  int width = 0;    // F
  bool bias = false;
  PartNames names;
};

template <class Slot>
struct MlpTensors {
  Slot gate_up;       // (2F, M), rows gate | up
  Slot down;          // (M, F)
  Slot gate_up_bias;  // (2F), optional
  Slot down_bias;     // (M), optional
};
using MlpWeights = MlpTensors<Tensor>;

template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const MlpDims& d, Visit&& visit) {
  const int64_t M = d.d_model, F = d.width;
  const auto row = [&](auto& slot, const char* local, Shape shape) {
    visit(slot, TensorRow{d.names.Of(local), shape, /*is_matrix=*/shape.rank() == 2});
  };
  row(w.gate_up, "gate_up_proj.weight", {2 * F, M});
  row(w.down, "down_proj.weight", {M, F});
  if (!d.bias) return;
  row(w.gate_up_bias, "gate_up_proj.bias", {2 * F});
  row(w.down_bias, "down_proj.bias", {M});
}

PartCost CostOf(const MlpDims& dims);

// Ready to run: matrices as stored, biases float32.
struct Mlp {
  MlpDims dims;
  Tensor gate_up, down;
  std::vector<float> gate_up_bias, down_bias;
};
Mlp MakeMlp(const MlpDims& dims, const MlpWeights& weights);

// What one call leaves, T rows each, and scratch; grows to the largest request.
struct MlpMemory {
  Buffer gate_up, gated;
  AdapterMemory adapters;
};
struct MlpBackwardMemory {
  Buffer dgated, dgate_up;
  AdapterMemory adapters;
};

// gelu(gate x) * (up x), (T, F): what the projection down reads. `adapter` of gate_up may be null.
ConstView GateUp(const Mlp& mlp, const AdapterWeights* adapter, ConstView input, MlpMemory& memory);

// From the gradient of the output, (T, M): adds that of the input to dinput. `memory` is as GateUp left it.
void MlpBackward(const Mlp& mlp, const AdapterWeights* adapter, MlpMemory& memory, ConstView dout,
                 MlpBackwardMemory& scratch, View dinput);

class MlpPart final : public Part {
 public:
  explicit MlpPart(Mlp mlp) : mlp_(std::move(mlp)) {}

  void Fill(ConstView normed, const Pass& pass, Workspace& workspace) const override;
  void AddOutput(View hidden, Workspace& workspace) const override;
  void Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                const ModelGradients& gradients) const override;

 private:
  Mlp mlp_;
};

}  // namespace ghost
