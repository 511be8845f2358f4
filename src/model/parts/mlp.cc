#include "model/parts/mlp.h"

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/rows/gelu_gate.h"
#include "model/optional_floats.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

PartCost CostOf(const MlpDims& d) { return {.macs = 3.0 * d.d_model * d.width}; }

Mlp MakeMlp(const MlpDims& dims, const MlpWeights& w) {
  return {dims, w.gate_up, w.down, OptionalFloats(w.gate_up_bias), OptionalFloats(w.down_bias)};
}

ConstView GateUp(const Mlp& mlp, const AdapterWeights* adapter, ConstView input, MlpMemory& memory) {
  const int64_t T = input.rows, F = mlp.dims.width;
  const View gate_up = Grow(memory.gate_up, T, 2 * F), gated = Grow(memory.gated, T, F);
  Project(input, mlp.gate_up, DataOrNull(mlp.gate_up_bias), adapter, memory.adapters, gate_up);  // (T, 2F)
  GeluGate(gate_up, gated);                                                                      // (T, F)
  return gated;
}

void MlpBackward(const Mlp& mlp, const AdapterWeights* adapter, MlpMemory& memory, ConstView dout,
                 MlpBackwardMemory& scratch, View dinput) {
  const int64_t T = dout.rows, F = mlp.dims.width;
  const View dgated = Grow(scratch.dgated, T, F), dgate_up = Grow(scratch.dgate_up, T, 2 * F);
  MatMulTransposed(dout, WeightView(mlp.down), dgated);                      // (T, F)
  GeluGateBackward(Grow(memory.gate_up, T, 2 * F), dgated, dgate_up);        // (T, 2F)
  AddUnprojected(dgate_up, mlp.gate_up, adapter, scratch.adapters, dinput);  // (T, M)
}

void MlpPart::Fill(ConstView normed, const Pass&, Workspace& workspace) const {
  GateUp(mlp_, /*adapter=*/nullptr, normed, workspace.Get<MlpMemory>());
}

void MlpPart::AddOutput(View hidden, Workspace& workspace) const {
  const ConstView gated(workspace.Get<MlpMemory>().gated.data(), hidden.rows, mlp_.dims.width);
  MatMul(gated, WeightView(mlp_.down), hidden, {.bias = DataOrNull(mlp_.down_bias), .accumulate = true});
}

void MlpPart::Backward(ConstView, const BackwardCall& call, ConstView dhidden, View dnormed,
                       const ModelGradients&) const {
  ZeroRows(dnormed);
  MlpBackward(mlp_, /*adapter=*/nullptr, call.kept.Get<MlpMemory>(), dhidden,
              call.scratch.Get<MlpBackwardMemory>(), dnormed);
}

}  // namespace ghost
