#include "prune/mixer_passes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/threads.h"
#include "kernels/conv/conv1d.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "model/block_views.h"
#include "prune/row_order.h"
#include "prune/write/apply_mask.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

const float* OffsetOrNull(const std::vector<float>& values, int64_t offset) {
  return values.empty() ? nullptr : values.data() + offset;
}

// Columns of the B and C part that stay, and the groups they form.
struct KeptColumns {
  std::vector<int> channels;     // positions in g*N + i
  std::vector<int> group_begin;  // (G+1) over them
};

KeptColumns ColumnsOf(const LayerMask& mask, const BlockDims& dims) {
  KeptColumns kept{mask.Channels(dims.group_begin), {0}};
  for (const std::vector<int>& group : mask.kept) {
    kept.group_begin.push_back(kept.group_begin.back() + static_cast<int>(group.size()));
  }
  return kept;
}

// (T, R+2GN) -> (T, R+2*kept): x' and the kept columns of B' and C'.
void GatherKept(ConstView xbc, const BlockDims& dims, const std::vector<int>& channels, View out) {
  const int64_t b = conv_b(dims), c = conv_c(dims);
  const auto kept = static_cast<int64_t>(channels.size());
  const auto gather = [&](int64_t t) {
    const float* from = xbc.Row(t);
    float* to = out.Row(t);
    std::memcpy(to, from, static_cast<size_t>(b) * sizeof(float));
    for (int64_t i = 0; i < kept; ++i) {
      to[b + i] = from[b + channels[static_cast<size_t>(i)]];
      to[b + kept + i] = from[c + channels[static_cast<size_t>(i)]];
    }
  };
  ParallelFor(xbc.rows, gather, /*work=*/xbc.rows * out.cols);
}

// A copy of xbc in which dropped B' and C' are what a zero filter with its bias left gives: SiLU(bias), for
// every token.
void CopyWithConstants(ConstView xbc, const MambaBlock& b, const std::vector<int>& kept, View out) {
  const int64_t first = conv_b(b.dims), GN = b.dims.state_channels();
  std::vector<bool> dropped(static_cast<size_t>(GN), true);
  for (const int c : kept) dropped[static_cast<size_t>(c)] = false;
  for (int64_t t = 0; t < xbc.rows; ++t) {
    std::memcpy(out.Row(t), xbc.Row(t), static_cast<size_t>(xbc.cols) * sizeof(float));
    for (int64_t c = 0; c < 2 * GN; ++c) {
      if (!dropped[static_cast<size_t>(c % GN)]) continue;
      const float bias = b.conv_bias.empty() ? 0.0f : b.conv_bias[static_cast<size_t>(first + c)];
      out.Row(t)[first + c] = bias / (1.0f + std::exp(-bias));
    }
  }
}

}  // namespace

MambaBlock EditedBlock(const MambaBlock& block, const LayerEdit& edit) {
  GHOST_CHECK(edit.tensors.empty());  // a block has no place for them yet
  MambaBlock edited = block;
  if (!edit.state_rows.empty()) edited.in_proj = ReplaceStateRows(block.in_proj, block.dims, edit.state_rows);
  return edited;
}

int64_t MixerInputBytes(const BlockDims& dims, int64_t rows) {
  return rows * (dims.conv_channels() + dims.num_heads) * static_cast<int64_t>(sizeof(float));
}

std::vector<SequenceSpan> MixerPasses::Sequences(int64_t rows, int64_t length, int64_t state_floats,
                                                 int64_t conv_floats) {
  GHOST_CHECK(length > 0 && rows % length == 0);
  const int64_t count = rows / length;
  const View states = Grow(states_, count, state_floats), conv = Grow(conv_states_, count, conv_floats);
  std::fill_n(states.data, count * state_floats, 0.0f);
  std::fill_n(conv.data, count * conv_floats, 0.0f);
  std::vector<SequenceSpan> sequences;
  for (int64_t i = 0; i < count; ++i) sequences.push_back({i * length, length, conv.Row(i), states.Row(i)});
  return sequences;
}

void MixerPasses::FrontHalf(const MambaBlock& b, ConstView input, int64_t length, MixerInputs& out) {
  const BlockDims& dims = b.dims;
  const int64_t T = input.rows, C = dims.conv_channels(), H = dims.num_heads;
  const int64_t x = x_row(dims);
  const std::vector<SequenceSpan> sequences =
      Sequences(T, length, /*state_floats=*/0, dims.conv_state_floats());
  const View normed = scratch_.normed(T, dims.d_model), raw = scratch_.zxbcdt(T, C + H);
  const View xbc = Grow(out.xbc, T, C), dt = Grow(out.dt, T, H);
  const WeightView rows = WeightView(b.in_proj).Rows(x, C + H);  // all but z

  RmsNorm(input, b.norm.data(), b.eps, normed);                             // (T, M)
  MatMul(normed, rows, raw, {.bias = OffsetOrNull(b.in_proj_bias, x)});     // (T, R+2GN+H)
  CausalConvSilu(raw.Cols(0, C), ViewConv(b), sequences, xbc);              // (T, R+2GN)
  SoftplusClamp(raw.Cols(C, H), b.dt_bias.data(), b.dt_min, b.dt_max, dt);  // (T, H)
}

void MixerPasses::ObserveScan(const MambaBlock& b, ConstView input, int64_t length, MixerInputs& out,
                              LayerStatistic& statistic) {
  const BlockDims& dims = b.dims;
  const int64_t T = input.rows;
  FrontHalf(b, input, length, out);
  const ConstView xbc(out.xbc.data(), T, dims.conv_channels()), dt(out.dt.data(), T, dims.num_heads);
  const std::vector<SequenceSpan> sequences = Sequences(T, length, dims.state_floats(), /*conv_floats=*/0);
  const ScanInput scan = ViewScan(xbc, dt, b, dims.group_begin, sequences);
  statistic.Add({.block = b,
                 .normed = scratch_.normed(T, dims.d_model),
                 .scan = &scan,
                 .y = scratch_.y(T, dims.d_inner())});
}

void MixerPasses::ObserveInput(const MambaBlock& b, ConstView input, LayerStatistic& statistic) {
  const View normed = scratch_.normed(input.rows, b.dims.d_model);
  RmsNorm(input, b.norm.data(), b.eps, normed);
  statistic.Add({.block = b, .normed = normed});
}

void MixerPasses::BackHalf(const MambaBlock& b, const MixerInputs& in, const LayerMask& mask,
                           bool keep_conv_bias, int64_t length, ConstView input, View u) {
  const BlockDims& dims = b.dims;
  const int64_t T = u.rows, R = dims.d_inner();
  const ConstView xbc(in.xbc.data(), T, dims.conv_channels()), dt(in.dt.data(), T, dims.num_heads);
  KeptColumns kept = ColumnsOf(mask, dims);
  const std::vector<int> channels = kept.channels;
  if (keep_conv_bias) kept.group_begin = dims.group_begin;
  const View used = scratch_.xbc(T, R + 2 * kept.group_begin.back());
  if (keep_conv_bias) {
    CopyWithConstants(xbc, b, channels, used);
  } else {
    GatherKept(xbc, dims, channels, used);
  }
  const std::vector<SequenceSpan> sequences = Sequences(T, length, dims.state_floats(), /*conv_floats=*/0);
  const View normed = scratch_.normed(T, dims.d_model), z = scratch_.zxbcdt(T, R), y = scratch_.y(T, R);

  RmsNorm(input, b.norm.data(), b.eps, normed);  // (T, M)
  MatMul(normed, WeightView(b.in_proj).Rows(z_row(dims), R), z,
         {.bias = OffsetOrNull(b.in_proj_bias, z_row(dims))});        // (T, R)
  SsmScan(ViewScan(used, dt, b, kept.group_begin, sequences), y);     // (T, R)
  GatedRmsNorm(y, z, b.gate_norm.data(), b.gate_eps, b.norm_groups);  // (T, R)
  MatMul(y, WeightView(b.out_proj), u, {.bias = OffsetOrNull(b.out_proj_bias, 0), .accumulate = true});
}

}  // namespace ghost
