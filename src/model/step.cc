#include "model/step.h"

#include "kernels/norm/norm.h"
#include "kernels/norm/norm_backward.h"
#include "kernels/rows/gather.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

struct StepMemory {
  Buffer input, normed;
};
struct StepBackwardMemory {
  Buffer dnormed, dpart, dinput;
};

}  // namespace

ConstView StepInput(const Step& step, ConstView hidden, const Pass& pass, Workspace& workspace) {
  if (!step.input) return hidden;
  const View input = Grow(workspace.Get<StepMemory>().input, hidden.rows, hidden.cols);
  step.input->Forward(hidden, pass, workspace, input);
  return input;
}

ConstView StepNorm(const Step& step, ConstView input, Workspace& workspace) {
  const View normed = Grow(workspace.Get<StepMemory>().normed, input.rows, input.cols);
  RmsNorm(input, step.norm.data(), step.eps, normed);
  return normed;
}

void ForwardStep(const Step& step, View hidden, const Pass& pass, Workspace& workspace) {
  const ConstView normed = StepNorm(step, StepInput(step, hidden, pass, workspace), workspace);  // (T, M)
  for (const auto& part : step.parts) {
    part->Fill(normed, pass, workspace);
    part->AddOutput(hidden, workspace);
  }
}

void RecomputeStep(const Step& step, ConstView hidden, const Pass& pass, Workspace& workspace) {
  const ConstView normed = StepNorm(step, StepInput(step, hidden, pass, workspace), workspace);
  for (const auto& part : step.parts) part->Fill(normed, pass, workspace);
}

void BackwardStep(const Step& step, ConstView hidden, const BackwardCall& call, View dhidden, View dembedded,
                  const ModelGradients& gradients) {
  const int64_t T = hidden.rows, M = hidden.cols;
  auto& kept = call.kept.Get<StepMemory>();
  auto& scratch = call.scratch.Get<StepBackwardMemory>();
  const ConstView input = step.input ? ConstView(kept.input.data(), T, M) : hidden;
  const ConstView normed(kept.normed.data(), T, M);
  const View dnormed = Grow(scratch.dnormed, T, M);
  for (size_t i = 0; i < step.parts.size(); ++i) {
    const View dpart = i == 0 ? dnormed : Grow(scratch.dpart, T, M);
    step.parts[i]->Backward(normed, call, dhidden, dpart, gradients);
    if (i > 0) AddRows(dpart, dnormed);
  }
  float* dnorm = gradients.norms[static_cast<size_t>(step.number)].data;
  if (!step.input) {
    RmsNormBackward(input, step.norm.data(), step.eps, dnormed, dhidden, dnorm);  // (T, M)
    return;
  }
  const View dinput = Grow(scratch.dinput, T, M);
  ZeroRows(dinput);
  RmsNormBackward(input, step.norm.data(), step.eps, dnormed, dinput, dnorm);  // (T, M)
  AddRows(dinput, dhidden);  // input = hidden + the input part's output
  step.input->Backward(call, dinput, dhidden, dembedded);
}

}  // namespace ghost
