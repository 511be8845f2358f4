// The two halves of a mixer. Inference and training run them one after the other; pruning collects
// statistics between them.
//
// The front half makes x', B', C' and the step sizes. The back half runs the scan, gate and norm, and the
// output projection. Dropping state channels changes nothing in x', the step sizes and the kept B' and C', so
// pruning reuses what the front half made.
#pragma once

#include <span>

#include "model/parts/mixer.h"
#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// Front half. normed: (T, M).
void ProjectIn(const Mixer& m, ConstView normed, View zxbcdt);    // (T, 2R+2GN+H): all rows of in_proj
void ProjectState(const Mixer& m, ConstView normed, View xbcdt);  // (T, R+2GN+H): all but z
void ProjectGate(const Mixer& m, ConstView normed, View z);       // (T, R): z alone
// xbc: (T, R+2GN) after convolution and SiLU; dt: (T, H) after softplus and clamp. The convolution state of
// the sequences moves forward.
void ConvolveAndStep(const Mixer& m, ConstView xbc_in, ConstView dt_in,
                     std::span<const SequenceSpan> sequences, View xbc, View dt);

// B and C for the scan, (T, 2 sum N_g), from xbc: (T, R+2GN) after the convolution: mapped into `memory`, or
// the columns of xbc themselves if the mixer maps nothing.
View StateInputs(const Mixer& m, View xbc, Buffer& memory);

// Back half. y: (T, R), the scan's output; gated: (T, R), may be y.
void GateAndNorm(const Mixer& m, ConstView y, ConstView z, View gated);
void AddProjectedOut(const Mixer& m, ConstView gated, View hidden);  // hidden: (T, M) += gated W_out^T

}  // namespace ghost
