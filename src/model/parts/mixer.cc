#include "model/parts/mixer.h"

#include <algorithm>
#include <cmath>

#include "model/optional_floats.h"

namespace ghost {

int MixerDims::max_group_size() const {
  int largest = 0;
  for (int g = 0; g < num_groups(); ++g) largest = std::max(largest, group_size(g));
  return largest;
}

int64_t MixerDims::head_channels() const {
  const int K = num_heads / num_groups();
  return int64_t{K} * state_channels();
}

std::vector<int> UniformGroups(int num_groups, int state_dim) {
  std::vector<int> begin(static_cast<size_t>(num_groups) + 1);
  for (int g = 0; g <= num_groups; ++g) begin[static_cast<size_t>(g)] = g * state_dim;
  return begin;
}

std::vector<int> GroupsOfSizes(const std::vector<int>& sizes) {
  std::vector<int> begin = {0};
  for (const int size : sizes) begin.push_back(begin.back() + size);
  return begin;
}

namespace {

void Multiply(std::vector<float>& values, const std::vector<float>& factors) {
  for (size_t i = 0; i < values.size() && i < factors.size(); ++i) values[i] *= factors[i];
}

// Widened; empty if `tensor` is.
Tensor FloatTensor(const Tensor& tensor) {
  return tensor.empty() ? tensor : MakeTensor(tensor.shape(), ToFloats(tensor));
}

void ApplyFactors(Mixer& m) {
  const MixerFactors& f = m.dims.factors;
  m.in_scale = BlockFactors(m.dims);
  Multiply(m.in_proj_bias, m.in_scale);
  if (f.input != 1.0f) {
    m.in_scale.resize(static_cast<size_t>(m.dims.in_proj_rows()), 1.0f);
    for (float& value : m.in_scale) value *= f.input;
  }
  if (f.output == 1.0f) return;
  m.out_scale.assign(static_cast<size_t>(m.dims.d_model), f.output);
  Multiply(m.out_proj_bias, m.out_scale);
}

}  // namespace

PartCost CostOf(const MixerDims& d) {
  const double M = d.d_model, R = d.d_inner();
  const double maps = d.state_maps ? 2.0 * d.state_channels() * d.input_group_size() : 0.0;
  return {.macs = M * (d.in_proj_rows() + R) + maps,
          .scan_flops = 5.0 * static_cast<double>(d.state_floats())};
}

std::vector<float> BlockFactors(const MixerDims& d) {
  const MixerFactors& f = d.factors;
  if (f.z == 1.0f && f.x == 1.0f && f.b == 1.0f && f.c == 1.0f && f.dt == 1.0f) return {};
  std::vector<float> factors(static_cast<size_t>(d.in_proj_rows()));
  const auto fill = [&](int begin, int end, float value) {
    std::fill(factors.begin() + begin, factors.begin() + end, value);
  };
  fill(d.z_row(), d.x_row(), f.z);
  fill(d.x_row(), d.b_row(), f.x);
  fill(d.b_row(), d.c_row(), f.b);
  fill(d.c_row(), d.dt_row(), f.c);
  fill(d.dt_row(), d.in_proj_rows(), f.dt);
  return factors;
}

Mixer MakeMixer(const MixerDims& dims, const MixerWeights& w, bool stores_a) {
  Mixer m;
  m.dims = dims;
  m.in_proj = w.in_proj;
  m.out_proj = w.out_proj;
  m.in_proj_bias = OptionalFloats(w.in_proj_bias);
  m.conv_taps = ToFloats(w.conv);
  m.conv_bias = OptionalFloats(w.conv_bias);
  m.b_map = FloatTensor(w.b_map);
  m.c_map = FloatTensor(w.c_map);
  m.dt_bias = ToFloats(w.dt_bias);
  m.a = ToFloats(w.a_log);
  if (!stores_a) {
    for (float& value : m.a) value = -std::exp(value);
  }
  m.d = ToFloats(w.d);
  m.gate_norm = OptionalFloats(w.gate_norm);
  m.out_proj_bias = OptionalFloats(w.out_proj_bias);
  ApplyFactors(m);
  return m;
}

InProjParts ViewInProj(View zxbcdt, const MixerDims& d) {
  return {zxbcdt.Cols(d.z_row(), d.d_inner()), zxbcdt.Cols(d.x_row(), d.conv_channels()),
          zxbcdt.Cols(d.dt_row(), d.num_heads)};
}

ConvWeights ViewConv(const Mixer& m) {
  return {m.conv_taps.data(), DataOrNull(m.conv_bias), m.dims.conv_width};
}

ScanInput ViewScan(const Mixer& m, ConstView x, ConstView bc, ConstView dt, std::span<const int> state_begin,
                   std::span<const SequenceSpan> sequences) {
  const int64_t GN = state_begin.back();
  ScanInput in;
  in.num_heads = m.dims.num_heads;
  in.head_dim = m.dims.head_dim;
  in.group_begin = state_begin;
  in.x = x;
  in.b = bc.Cols(0, GN);
  in.c = bc.Cols(GN, GN);
  in.dt = dt;
  in.a = m.a.data();
  in.d = m.d.data();
  in.sequences = sequences;
  return in;
}

}  // namespace ghost
