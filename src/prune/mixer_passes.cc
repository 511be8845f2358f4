#include "prune/mixer_passes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/threads.h"
#include "model/parts/mixer_forward.h"
#include "model/sequence_batch.h"
#include "prune/write/apply_mask.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

// Columns of the B and C part that stay, and the groups they form.
struct KeptColumns {
  std::vector<int> channels;  // positions in g*N + i
  std::vector<int> begin;     // (G+1) over them
};

KeptColumns ColumnsOf(const LayerMask& mask, const MixerDims& dims) {
  KeptColumns kept{mask.Channels(dims.input_begin), {0}};
  for (const std::vector<int>& group : mask.kept) {
    kept.begin.push_back(kept.begin.back() + static_cast<int>(group.size()));
  }
  return kept;
}

// (T, R+2GN) -> (T, 2*kept): the kept columns of B' and C'.
void GatherKept(ConstView xbc, const MixerDims& dims, const std::vector<int>& channels, View out) {
  const int64_t b = dims.conv_b(), c = dims.conv_c();
  const auto kept = static_cast<int64_t>(channels.size());
  const auto gather = [&](int64_t t) {
    const float* from = xbc.Row(t);
    float* to = out.Row(t);
    for (int64_t i = 0; i < kept; ++i) {
      to[i] = from[b + channels[static_cast<size_t>(i)]];
      to[kept + i] = from[c + channels[static_cast<size_t>(i)]];
    }
  };
  ParallelFor(xbc.rows, gather, /*work=*/xbc.rows * out.cols);
}

// A copy of B' and C' in which dropped ones are what a zero filter with its bias left gives: SiLU(bias), for
// every token.
void CopyWithConstants(ConstView xbc, const Mixer& b, const std::vector<int>& kept, View out) {
  const int64_t first = b.dims.conv_b(), GN = b.dims.input_channels();
  std::vector<bool> dropped(static_cast<size_t>(GN), true);
  for (const int c : kept) dropped[static_cast<size_t>(c)] = false;
  for (int64_t t = 0; t < xbc.rows; ++t) {
    std::memcpy(out.Row(t), xbc.Row(t) + first, static_cast<size_t>(2 * GN) * sizeof(float));
    for (int64_t c = 0; c < 2 * GN; ++c) {
      if (!dropped[static_cast<size_t>(c % GN)]) continue;
      const float bias = b.conv_bias.empty() ? 0.0f : b.conv_bias[static_cast<size_t>(first + c)];
      out.Row(t)[c] = bias / (1.0f + std::exp(-bias));
    }
  }
}

}  // namespace

Mixer EditedMixer(const Mixer& mixer, const LayerEdit& edit) {
  Mixer edited = mixer;
  if (!edit.tensors.empty()) {
    GHOST_CHECK(edit.tensors.size() == 2);
    edited.dims.state_maps = true;
    edited.dims.state_begin = GroupsOfSizes(edit.state_sizes);
    edited.b_map = edit.tensors.at("b_map.weight");
    edited.c_map = edit.tensors.at("c_map.weight");
  }
  const MixerDims& dims = mixer.dims;
  if (!edit.state_rows.empty()) edited.in_proj = ReplaceRows(mixer.in_proj, dims.b_row(), edit.state_rows);
  if (!edit.state_taps.empty())
    std::ranges::copy(ToFloats(edit.state_taps),
                      edited.conv_taps.begin() + int64_t{dims.conv_b()} * dims.conv_width);
  if (!edit.state_biases.empty())
    std::ranges::copy(ToFloats(edit.state_biases), edited.conv_bias.begin() + dims.conv_b());
  return edited;
}

int64_t MixerInputBytes(const MixerDims& dims, int64_t rows) {
  return rows * (dims.conv_channels() + dims.num_heads) * static_cast<int64_t>(sizeof(float));
}

std::vector<SequenceSpan> MixerPasses::Sequences(const Mixer& m, int64_t rows, int64_t length) {
  return MixerSpans(EqualSequences(rows, length), /*ordinal=*/0, m.dims, StateFormat{}, conv_);
}

void MixerPasses::FrontHalf(const Mixer& m, ConstView normed, int64_t length, MixerInputs& out) {
  const int64_t T = normed.rows, C = m.dims.conv_channels(), H = m.dims.num_heads;
  const View raw = Grow(raw_, T, C + H), xbc = Grow(out.xbc, T, C), dt = Grow(out.dt, T, H);
  ProjectState(m, normed, raw);  // (T, R+2GN+H)
  ConvolveAndStep(m, raw.Cols(0, C), raw.Cols(C, H), Sequences(m, T, length), xbc, dt);
}

void MixerPasses::ObserveScan(const MixerChunk& chunk, int64_t length, MixerInputs& out,
                              LayerStatistic& statistic) {
  const Mixer& m = chunk.mixer;
  const MixerDims& dims = m.dims;
  const int64_t T = chunk.normed.rows;
  FrontHalf(m, chunk.normed, length, out);
  const View xbc(out.xbc.data(), T, dims.conv_channels());
  const ConstView dt(out.dt.data(), T, dims.num_heads);
  const std::vector<SequenceSpan> sequences = Sequences(m, T, length);
  const View bc = StateInputs(m, xbc, used_);
  const ScanInput scan =
      ViewScan(m, xbc.Cols(dims.conv_x(), dims.d_inner()), bc, dt, dims.state_begin, sequences);
  statistic.Add({.mixer = m,
                 .normed = chunk.normed,
                 .scan = &scan,
                 .y = Grow(y_, T, dims.d_inner()),
                 .place = chunk.place});
}

void MixerPasses::BackHalf(const Mixer& m, const MixerInputs& in, const LayerMask& mask, bool keep_conv_bias,
                           int64_t length, ConstView normed, View hidden) {
  const MixerDims& dims = m.dims;
  const int64_t T = hidden.rows, R = dims.d_inner();
  const View xbc(in.xbc.data(), T, dims.conv_channels());
  const ConstView dt(in.dt.data(), T, dims.num_heads);
  KeptColumns kept = ColumnsOf(mask, dims);
  View bc;
  if (dims.state_maps) {
    GHOST_CHECK(static_cast<int>(kept.channels.size()) == dims.input_channels() && !keep_conv_bias);
    kept.begin = dims.state_begin;
    bc = StateInputs(m, xbc, used_);
  } else if (keep_conv_bias) {
    kept.begin = dims.state_begin;
    bc = Grow(used_, T, 2 * kept.begin.back());
    CopyWithConstants(xbc, m, kept.channels, bc);
  } else {
    bc = Grow(used_, T, 2 * kept.begin.back());
    GatherKept(xbc, dims, kept.channels, bc);
  }
  const std::vector<SequenceSpan> sequences = Sequences(m, T, length);
  const View z = Grow(z_, T, R), y = Grow(y_, T, R);
  ProjectGate(m, normed, z);                                                           // (T, R)
  SsmScan(ViewScan(m, xbc.Cols(dims.conv_x(), R), bc, dt, kept.begin, sequences), y);  // (T, R)  eq. 2, 3
  GateAndNorm(m, y, z, y);                                                             // (T, R)
  AddProjectedOut(m, y, hidden);                                                       // (T, M)
}

}  // namespace ghost
