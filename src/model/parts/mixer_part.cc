#include "model/parts/mixer_part.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "kernels/scan/ssm_scan_backward.h"
#include "model/parts/mixer_backward.h"
#include "model/parts/mixer_forward.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

struct MixerMemory {
  Buffer zxbcdt, xbc, mapped, dt, y, gated, chunk_states;
  ConstView gated_view;  // what AddOutput projects
};

// Of sequences without a state of their own. Small enough to stay in the cache from step to step.
struct PassingStates {
  Buffer conv, states;
};

// A backward pass reads the states before every chunk, so the scan must carry them in memory: one after the
// other in `states`, from zeros.
void GiveStates(const MixerDims& dims, Buffer& states, std::vector<SequenceSpan>& spans) {
  const View memory = Grow(states, static_cast<int64_t>(spans.size()), dims.state_floats());
  const auto clear = [&](int64_t s) {
    std::fill_n(memory.Row(s), memory.cols, 0.0f);
    spans[static_cast<size_t>(s)].state = memory.Row(s);
  };
  ParallelFor(memory.rows, clear, /*work=*/memory.rows * memory.cols);
}

float* ChunkStates(const MixerDims& dims, const SequenceBatch& batch, Buffer& chunk_states) {
  const int64_t chunks = (batch.front().length + kScanChunk - 1) / kScanChunk;
  return Grow(chunk_states, chunks * static_cast<int64_t>(batch.size()), dims.state_floats()).data;
}

MixerActivations ViewActivations(const MixerDims& dims, int64_t rows, MixerMemory& memory) {
  MixerActivations act;
  act.zxbcdt = Grow(memory.zxbcdt, rows, dims.in_proj_rows());
  act.xbc = Grow(memory.xbc, rows, dims.conv_channels());
  act.dt = Grow(memory.dt, rows, dims.num_heads);
  act.y = Grow(memory.y, rows, dims.d_inner());
  act.bc = dims.state_maps ? Grow(memory.mapped, rows, 2 * int64_t{dims.state_channels()})
                           : act.xbc.Cols(dims.conv_b(), 2 * dims.input_channels());
  return act;
}

}  // namespace

void MixerPart::Fill(ConstView normed, const Pass& pass, Workspace& workspace) const {
  const MixerDims& dims = mixer_.dims;
  auto& memory = workspace.Get<MixerMemory>();
  MixerActivations act = ViewActivations(dims, normed.rows, memory);
  act.gated = pass.for_backward ? Grow(memory.gated, normed.rows, dims.d_inner()) : act.y;
  memory.gated_view = act.gated;
  auto& passing = (pass.scratch ? *pass.scratch : workspace).Get<PassingStates>();
  std::vector<SequenceSpan> spans = MixerSpans(pass.sequences, ordinal_, dims, pass.states, passing.conv);
  if (pass.for_backward) GiveStates(dims, passing.states, spans);
  const InProjParts in = ViewInProj(act.zxbcdt, dims);

  ProjectIn(mixer_, normed, act.zxbcdt);                           // (T, 2R+2GN+H)  eq. 1
  ConvolveAndStep(mixer_, in.xbc, in.dt, spans, act.xbc, act.dt);  // (T, R+2GN), (T, H)
  const View bc = StateInputs(mixer_, act.xbc, memory.mapped);     // (T, 2 sum N_g)
  const ScanInput scan =
      ViewScan(mixer_, act.xbc.Cols(dims.conv_x(), dims.d_inner()), bc, act.dt, dims.state_begin, spans);
  if (pass.for_backward) {
    SsmScanChunks(scan, act.y, ChunkStates(dims, pass.sequences, memory.chunk_states));  // (T, R)
  } else {
    SsmScan(scan, act.y);  // (T, R)  eq. 2, 3
  }
  GateAndNorm(mixer_, act.y, in.z, act.gated);  // (T, R)
}

void MixerPart::AddOutput(View hidden, Workspace& workspace) const {
  AddProjectedOut(mixer_, workspace.Get<MixerMemory>().gated_view, hidden);  // (T, M)
}

void MixerPart::Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                         const ModelGradients& gradients) const {
  auto& memory = call.kept.Get<MixerMemory>();
  MixerActivations act = ViewActivations(mixer_.dims, normed.rows, memory);
  act.gated = Grow(memory.gated, normed.rows, mixer_.dims.d_inner());
  act.chunk_states = ChunkStates(mixer_.dims, call.pass.sequences, memory.chunk_states);
  std::vector<SequenceSpan> spans;  // rows alone: the backward pass reads no states but those of chunks
  for (const SequenceRows& rows : call.pass.sequences) spans.push_back({rows.begin, rows.length});
  BackwardMixer(mixer_, normed, spans, act, dhidden, dnormed, call.scratch.Get<MixerBackwardScratch>(),
                gradients.mixers[static_cast<size_t>(ordinal_)]);
}

}  // namespace ghost
