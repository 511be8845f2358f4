#include "model/parts/mixer_forward.h"

#include "base/threads.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/rows/silu_gate.h"
#include "model/optional_floats.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

constexpr int64_t kFewRows = 64;

// out = normed times `count` rows of in_proj from `first` on, with their bias.
void Project(const Mixer& m, ConstView normed, int first, int count, View out) {
  const float* bias = m.in_proj_bias.empty() ? nullptr : m.in_proj_bias.data() + first;
  const float* scale = m.in_scale.empty() ? nullptr : m.in_scale.data() + first;
  MatMul(normed, WeightView(m.in_proj).Rows(first, count), out, {.bias = bias, .scale = scale});
}

}  // namespace

void ProjectIn(const Mixer& m, ConstView normed, View zxbcdt) {
  Project(m, normed, 0, m.dims.in_proj_rows(), zxbcdt);
}

void ProjectState(const Mixer& m, ConstView normed, View xbcdt) {
  Project(m, normed, m.dims.x_row(), m.dims.in_proj_rows() - m.dims.x_row(), xbcdt);
}

void ProjectGate(const Mixer& m, ConstView normed, View z) {
  Project(m, normed, m.dims.z_row(), m.dims.d_inner(), z);
}

void ConvolveAndStep(const Mixer& m, ConstView xbc_in, ConstView dt_in,
                     std::span<const SequenceSpan> sequences, View xbc, View dt) {
  CausalConvSilu(xbc_in, ViewConv(m), sequences, xbc);                       // (T, R+2GN)  eq. 10
  SoftplusClamp(dt_in, m.dt_bias.data(), m.dims.dt_min, m.dims.dt_max, dt);  // (T, H)
}

View StateInputs(const Mixer& m, View xbc, Buffer& memory) {
  const MixerDims& d = m.dims;
  if (!d.state_maps) return xbc.Cols(d.conv_b(), 2 * d.input_channels());
  const View mapped = Grow(memory, xbc.rows, 2 * int64_t{d.state_channels()});
  const int64_t N = d.input_group_size(), G = d.num_groups();
  const auto map = [&](int64_t item) {
    const bool is_b = item < G;
    const auto g = static_cast<int>(item % G);
    const int64_t first = d.state_begin[static_cast<size_t>(g)], r = d.group_size(g);
    MatMul(xbc.Cols((is_b ? d.conv_b() : d.conv_c()) + g * N, N),
           WeightView(is_b ? m.b_map : m.c_map).Rows(first, r),
           mapped.Cols(is_b ? first : d.state_channels() + first, r));
  };
  // While decoding, a map is one tile of its product: threads share the maps. With many rows they share each.
  const int64_t items = 2 * G;
  if (xbc.rows <= kFewRows) {
    ParallelFor(items, map, /*work=*/xbc.rows * N * 2 * d.state_channels());
  } else {
    for (int64_t item = 0; item < items; ++item) map(item);
  }
  return mapped;
}

void GateAndNorm(const Mixer& m, ConstView y, ConstView z, View gated) {
  const int groups = m.dims.norm_groups();
  switch (m.dims.gate_form) {
    case GateForm::kGateThenNorm:
      return GatedRmsNorm(y, z, m.gate_norm.data(), m.dims.gate_eps, groups, gated);
    case GateForm::kNormThenGate:
      return RmsNormThenGate(y, z, m.gate_norm.data(), m.dims.gate_eps, groups, gated);
    case GateForm::kGateOnly:
      return SiluGate(y, z, gated);
  }
}

void AddProjectedOut(const Mixer& m, ConstView gated, View hidden) {
  MatMul(gated, WeightView(m.out_proj), hidden,
         {.bias = DataOrNull(m.out_proj_bias), .accumulate = true, .scale = DataOrNull(m.out_scale)});
}

}  // namespace ghost
