// A layer is a list of steps, and a step is a list of parts. This is what the walk through the layers
// (step.h) knows of a part; each kind implements it in its own file under parts/.
#pragma once

#include "model/gradients.h"
#include "model/sequence_batch.h"
#include "model/workspace.h"
#include "tensor/view.h"

namespace ghost {

// What all parts of a pass see.
struct Pass {
  const SequenceBatch& sequences;  // they partition the T rows
  ConstView embedded = {};         // (T, M): the tokens' embeddings, if Model::reads_embeddings()
  bool for_backward = false;       // leave in the workspace what Backward reads; sequences are equally long
  StateFormat states = {};         // of all sequences; float32 for_backward
  Workspace* scratch = nullptr;    // shared by all steps, for what no one reads later; null: the workspace
};

// Memory of a backward step beside the activations.
struct BackwardCall {
  const Pass& pass;
  Workspace& kept;     // the workspace of the forward step
  Workspace& scratch;  // one for all steps
};

// Reads what the norm of its step gives and adds to the residual stream. Immutable; threads may share it.
class Part {
 public:
  virtual ~Part() = default;

  // Computes everything up to the output from normed: (T, M) and leaves it in `workspace`. States and caches
  // of the sequences move forward.
  virtual void Fill(ConstView normed, const Pass& pass, Workspace& workspace) const = 0;
  // hidden += the output, (T, M), from what Fill left.
  virtual void AddOutput(View hidden, Workspace& workspace) const = 0;

  // From dhidden: (T, M), the gradient of the residual stream after the step, to dnormed: (T, M),
  // overwritten. `call.kept` is as Fill left it with pass.for_backward. Adds to those of `gradients` that are
  // wanted and that this part has.
  virtual void Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                        const ModelGradients& gradients) const = 0;
};

// Changes what the norm of a step sees: the residual stream and something added to it.
class InputPart {
 public:
  virtual ~InputPart() = default;

  // input = hidden + the part's output, all (T, M). Caches of the sequences move forward.
  virtual void Forward(ConstView hidden, const Pass& pass, Workspace& workspace, View input) const = 0;
  // `call.kept` is as Forward left it. Adds to dhidden and dembedded, both (T, M), what flows back through
  // the part from dinput: (T, M). The path around it (input = hidden + ...) is the caller's.
  virtual void Backward(const BackwardCall& call, ConstView dinput, View dhidden, View dembedded) const = 0;
};

}  // namespace ghost
