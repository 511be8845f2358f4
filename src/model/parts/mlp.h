// The MLP, gated or not: sizes, tensors, forward and backward. Used as a part of a step, and inside a shared
// block.
#pragma once

#include <utility>
#include <vector>

#include "model/part.h"
#include "model/part_cost.h"
#include "model/parts/adapter.h"
#include "model/tensor_row.h"

namespace ghost {

// What is between the projections up and down.
enum class Activation {
  kGelu,         // gelu(gate) * up, with the exact gelu
  kSilu,         // SiLU(gate) * up
  kSquaredRelu,  // max(up, 0)^2: no gate
};
inline bool IsGated(Activation activation) { return activation != Activation::kSquaredRelu; }

struct MlpDims {
  int d_model = 0;  // M
  int width = 0;    // F
  Activation activation = Activation::kGelu;
  bool joined = true;  // one tensor holds the rows of gate and then those of up; without a gate: false
  bool bias = false;   // of all projections
  float gate_factor = 1.0f, down_factor = 1.0f;  // of these projections' outputs, biases included
  LocalName gate_name = {.name = "gate_proj", .gguf = "ffn_gate"};
  LocalName up_name = {.name = "gate_up_proj"};  // of the joined tensor, too
  LocalName down_name = {.name = "down_proj", .gguf = "ffn_down"};
  PartNames names;

  // Columns of what the activation reads: gate | up, or up alone.
  int64_t raw_width() const { return int64_t{IsGated(activation) ? 2 : 1} * width; }
};

template <class Slot>
struct MlpTensors {
  Slot gate, gate_bias;  // (F, M), (F): where they are not joined
  Slot up, up_bias;      // (F, M), (F), or with the gate (2F, M), (2F), rows gate | up
  Slot down, down_bias;  // (M, F), (M)
};
using MlpWeights = MlpTensors<Tensor>;

template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const MlpDims& d, Visit&& visit) {
  const int64_t M = d.d_model, F = d.width;
  const auto row = [&](auto& slot, auto& bias, const LocalName& local, int64_t rows, int64_t cols) {
    visit(slot, TensorRow{d.names.Weight(local), {rows, cols}, /*is_matrix=*/true});
    if (d.bias) visit(bias, TensorRow{d.names.Bias(local), {rows}});
  };
  if (IsGated(d.activation) && !d.joined) row(w.gate, w.gate_bias, d.gate_name, F, M);
  row(w.up, w.up_bias, d.up_name, d.joined ? d.raw_width() : F, M);
  row(w.down, w.down_bias, d.down_name, M, F);
}

PartCost CostOf(const MlpDims& dims);

// Ready to run.
struct Mlp {
  MlpDims dims;
  Linear gate;  // without weights where it is joined to `up`, and where there is none
  Linear up, down;
};
Mlp MakeMlp(const MlpDims& dims, const MlpWeights& weights);

// What one call leaves, T rows each, and scratch; grows to the largest request.
struct MlpMemory {
  Buffer raw;    // (T, 2F) gate | up, or (T, F)
  Buffer gated;  // (T, F)
  AdapterMemory adapters;
};
struct MlpBackwardMemory {
  Buffer dgated, draw;
  AdapterMemory adapters;
};

// out: (T, F), what the projection down reads, from raw: (T, 2F) or (T, F).
void Activate(Activation activation, ConstView raw, View out);
// draw from dout and raw.
void ActivateBackward(Activation activation, ConstView raw, ConstView dout, View draw);

// What the projection down reads, (T, F). `adapter` of `up` may be null.
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
