// The one walk through the layers: a step forward and backward. Inference, training and pruning all go
// through these functions.
#pragma once

#include <memory>
#include <vector>

#include "model/part.h"
#include "model/parts/mixer_part.h"
#include "tensor/view.h"

namespace ghost {

// Ready to run. Immutable; threads may share it.
struct Step {
  int number = 0;  // counts the steps of the model
  int layer = 0;
  bool ends_layer = true;
  std::unique_ptr<InputPart> input;  // null: the norm reads the residual stream
  std::vector<float> norm;           // (M)
  float eps = 1e-5f;
  std::vector<std::unique_ptr<Part>> parts;
  const MixerPart* mixer = nullptr;  // one of the parts; null for a step without a mixer
  int mixer_ordinal = -1;
};

// What the norm of a step reads, (T, M): hidden itself, or what the input part makes of it, in `workspace`.
ConstView StepInput(const Step& step, ConstView hidden, const Pass& pass, Workspace& workspace);
// The norm of it, (T, M), in `workspace`: what all parts read.
ConstView StepNorm(const Step& step, ConstView input, Workspace& workspace);

// hidden: (T, M), updated in place. States and caches of the sequences move forward.
void ForwardStep(const Step& step, View hidden, const Pass& pass, Workspace& workspace);

// Everything that ForwardStep with pass.for_backward leaves in `workspace`, without the step's output.
void RecomputeStep(const Step& step, ConstView hidden, const Pass& pass, Workspace& workspace);

// dhidden: (T, M), the gradient of the residual stream after the step, becomes that before the step.
// `hidden` is what ForwardStep started from and call.kept what it, or RecomputeStep, left. dembedded is
// needed only for a step with an input part.
void BackwardStep(const Step& step, ConstView hidden, const BackwardCall& call, View dhidden, View dembedded,
                  const ModelGradients& gradients);

}  // namespace ghost
