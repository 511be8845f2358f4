#include "model/parts/mlp.h"

#include "base/check.h"
#include "kernels/rows/gelu_gate.h"
#include "kernels/rows/silu_gate.h"
#include "kernels/rows/squared_relu.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

PartCost CostOf(const MlpDims& d) {
  return {.macs = static_cast<double>(d.d_model) * static_cast<double>(d.raw_width() + d.width)};
}

Mlp MakeMlp(const MlpDims& d, const MlpWeights& w) {
  GHOST_CHECK(!d.joined || d.gate_factor == 1.0f);  // no family has both
  Mlp mlp{.dims = d, .up = MakeLinear(w.up, w.up_bias)};
  if (!w.gate.empty()) mlp.gate = MakeScaledLinear(w.gate, w.gate_bias, d.gate_factor);
  mlp.down = MakeScaledLinear(w.down, w.down_bias, d.down_factor);
  return mlp;
}

void Activate(Activation activation, ConstView raw, View out) {
  const int64_t F = out.cols;
  switch (activation) {
    case Activation::kGelu:
      return GeluGate(raw, out);
    case Activation::kSilu:
      return SiluGate(/*y=*/raw.Cols(F, F), /*z=*/raw.Cols(0, F), out);
    case Activation::kSquaredRelu:
      return SquaredRelu(raw, out);
  }
}

void ActivateBackward(Activation activation, ConstView raw, ConstView dout, View draw) {
  const int64_t F = dout.cols;
  switch (activation) {
    case Activation::kGelu:
      return GeluGateBackward(raw, dout, draw);
    case Activation::kSilu:
      return SiluGateBackward(/*y=*/raw.Cols(F, F), /*z=*/raw.Cols(0, F), dout, /*dy=*/draw.Cols(F, F),
                              /*dz=*/draw.Cols(0, F));
    case Activation::kSquaredRelu:
      return SquaredReluBackward(raw, dout, draw);
  }
}

ConstView GateUp(const Mlp& mlp, const AdapterWeights* adapter, ConstView input, MlpMemory& memory) {
  const int64_t T = input.rows, F = mlp.dims.width, up = mlp.up.weight.shape()[0];
  const View raw = Grow(memory.raw, T, mlp.dims.raw_width()), gated = Grow(memory.gated, T, F);
  if (!mlp.gate.weight.empty()) Apply(mlp.gate, input, raw.Cols(0, F));                       // (T, F)
  Project(input, mlp.up, adapter, memory.adapters, raw.Cols(mlp.dims.raw_width() - up, up));  // (T, F or 2F)
  Activate(mlp.dims.activation, raw, gated);                                                  // (T, F)
  return gated;
}

void MlpBackward(const Mlp& mlp, const AdapterWeights* adapter, MlpMemory& memory, ConstView dout,
                 MlpBackwardMemory& scratch, View dinput) {
  const int64_t T = dout.rows, F = mlp.dims.width, W = mlp.dims.raw_width(), up = mlp.up.weight.shape()[0];
  const View dgated = Grow(scratch.dgated, T, F), draw = Grow(scratch.draw, T, W);
  ApplyTransposed(mlp.down, dout, scratch.adapters.scaled, dgated);                  // (T, F)
  ActivateBackward(mlp.dims.activation, Grow(memory.raw, T, W), dgated, draw);       // (T, 2F or F)
  AddUnprojected(draw.Cols(W - up, up), mlp.up, adapter, scratch.adapters, dinput);  // (T, M)
  if (mlp.gate.weight.empty()) return;
  AddUnprojected(draw.Cols(0, F), mlp.gate, /*adapter=*/nullptr, scratch.adapters, dinput);  // (T, M)
}

void MlpPart::Fill(ConstView normed, const Pass&, Workspace& workspace) const {
  GateUp(mlp_, /*adapter=*/nullptr, normed, workspace.Get<MlpMemory>());
}

void MlpPart::AddOutput(View hidden, Workspace& workspace) const {
  const ConstView gated(workspace.Get<MlpMemory>().gated.data(), hidden.rows, mlp_.dims.width);
  ApplyAccumulate(mlp_.down, gated, hidden);  // (T, M)
}

void MlpPart::Backward(ConstView, const BackwardCall& call, ConstView dhidden, View dnormed,
                       const ModelGradients&) const {
  ZeroRows(dnormed);
  MlpBackward(mlp_, /*adapter=*/nullptr, call.kept.Get<MlpMemory>(), dhidden,
              call.scratch.Get<MlpBackwardMemory>(), dnormed);
}

}  // namespace ghost
