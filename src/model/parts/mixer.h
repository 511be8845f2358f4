// The Mamba2 mixer: sizes, tensors, and the form that is ready to run. It reads a normed input and adds to
// the residual stream: input projection, convolution, scan, gated norm, output projection.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/conv/conv1d.h"
#include "kernels/scan/ssm_scan.h"
#include "model/part_cost.h"
#include "model/tensor_row.h"
#include "tensor/view.h"

namespace ghost {

// Over how many channels the gated norm takes its mean; the two differ only for G > 1.
enum class NormGrouping {
  kFull,     // the whole inner width: what the Hugging Face Mamba2 class computes at inference
  kGrouped,  // per group: what the models were trained with, and what mamba_ssm, vLLM and llama.cpp compute
};

// Where the gate SiLU(z) and the norm are.
enum class GateForm {
  kGateThenNorm,  // rms_norm(y * SiLU(z))
  kNormThenGate,  // rms_norm(y) * SiLU(z)
  kGateOnly,      // y * SiLU(z): no norm, and no weights of one
};

// Constants that multiply activations: the projection's input, the blocks of its output (bias included), and
// what the mixer adds to the residual stream (bias included).
struct MixerFactors {
  float input = 1.0f;
  float z = 1.0f, x = 1.0f, b = 1.0f, c = 1.0f, dt = 1.0f;
  float output = 1.0f;
};

// The sizes and constants of one mixer. They belong to the mixer, not to the model: after pruning N differs
// between mixers and, in our own ragged files, between the groups of a mixer.
struct MixerDims {
  int layer = 0;       // the layer it is in, counted over all layers of the model
  int d_model = 0;     // M
  int num_heads = 0;   // H
  int head_dim = 0;    // P
  int conv_width = 0;  // W
  // (G+1) each: group g owns channels [begin[g], begin[g+1]). `input` counts the channels of B, and as many
  // of C, that projection and convolution make; `state` those the scan carries. They are equal unless
  // `state_maps`: then B and C are mapped, group by group, from input to state channels after the
  // convolution.
  std::vector<int> input_begin, state_begin;
  bool state_maps = false;
  bool in_bias = false, out_bias = false, conv_bias = true;
  GateForm gate_form = GateForm::kGateThenNorm;
  float gate_eps = 1e-5f;  // of the gated norm
  NormGrouping norm_grouping = NormGrouping::kGrouped;
  float dt_min = 0.0f, dt_max = std::numeric_limits<float>::infinity();  // clamp of the step size
  MixerFactors factors;
  PartNames names;

  void SetGroups(std::vector<int> begin) { input_begin = state_begin = std::move(begin); }

  int num_groups() const { return static_cast<int>(state_begin.size()) - 1; }  // G
  int group_size(int g) const {                                                // N_g
    return state_begin[static_cast<size_t>(g) + 1] - state_begin[static_cast<size_t>(g)];
  }
  int group_of_head(int h) const { return h / (num_heads / num_groups()); }  // g = h / K
  int max_group_size() const;
  bool has_gate_norm() const { return gate_form != GateForm::kGateOnly; }
  int norm_groups() const { return norm_grouping == NormGrouping::kGrouped ? num_groups() : 1; }

  int d_inner() const { return num_heads * head_dim; }                    // R
  int input_channels() const { return input_begin.back(); }               // GN of B, and of C
  int input_group_size() const { return input_begin[1]; }                 // N; mapped groups are equal
  int state_channels() const { return state_begin.back(); }               // sum N_g
  int conv_channels() const { return d_inner() + 2 * input_channels(); }  // R + 2GN
  int64_t head_channels() const;                                          // H*N, sum over heads of N_g
  int64_t state_floats() const { return head_channels() * head_dim; }     // H*P*N
  int64_t conv_state_floats() const { return int64_t{conv_width - 1} * conv_channels(); }  // (W-1)(R+2GN)

  // The order of the rows of in_proj, z | x | B | C | dt, and of the convolution's channels, x | B | C.
  int z_row() const { return 0; }
  int x_row() const { return d_inner(); }
  int b_row() const { return x_row() + d_inner(); }
  int c_row() const { return b_row() + input_channels(); }
  int dt_row() const { return c_row() + input_channels(); }
  int in_proj_rows() const { return dt_row() + num_heads; }  // 2R + 2GN + H
  int conv_x() const { return 0; }
  int conv_b() const { return d_inner(); }
  int conv_c() const { return conv_b() + input_channels(); }
};

// The usual case: every one of `num_groups` groups has `state_dim` channels.
std::vector<int> UniformGroups(int num_groups, int state_dim);
// (G+1) from the sizes of G groups.
std::vector<int> GroupsOfSizes(const std::vector<int>& sizes);

// A slot per tensor: Tensor for weights, View for gradients. Optional ones may be empty.
template <class Slot>
struct MixerTensors {
  Slot in_proj;        // (2R+2GN+H, M), rows z | x | B | C | dt
  Slot in_proj_bias;   // (2R+2GN+H), optional
  Slot conv;           // (R+2GN, 1, W), channels x | B | C
  Slot conv_bias;      // (R+2GN), optional
  Slot b_map, c_map;   // (sum N_g of the state, N) each, rows in the groups' order; with state_maps
  Slot dt_bias;        // (H)
  Slot a_log;          // (H); GGUF files store A = -exp(A_log) instead
  Slot d;              // (H)
  Slot gate_norm;      // (R), optional
  Slot out_proj;       // (M, R)
  Slot out_proj_bias;  // (M), optional
};
using MixerWeights = MixerTensors<Tensor>;

// Views shaped like the weights, vectors as one row. An empty view is a gradient that is not wanted, or a
// tensor that the model does not have. a_log: with respect to A_log, also where a file stores A.
struct MixerGradients : MixerTensors<View> {
  int first_row = 0;  // the row of in_proj that `in_proj` starts with: 0, or b_row() for B and C alone
};

template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const MixerDims& d, Visit&& visit) {
  const int64_t M = d.d_model, R = d.d_inner(), H = d.num_heads, W = d.conv_width;
  const int64_t rows = d.in_proj_rows(), C = d.conv_channels();
  const int64_t G = d.num_groups();
  const auto matrix = [&](auto& slot, const char* local, const char* gguf, Shape shape) {
    visit(slot, TensorRow{d.names.Of(local, gguf), shape, /*is_matrix=*/true});
  };
  const auto vector = [&](auto& slot, const char* local, const char* gguf, Shape shape,
                          Shape gguf_shape = {}) {
    visit(slot, TensorRow{.names = d.names.Of(local, gguf),
                          .shape = shape,
                          .gguf_shape = gguf_shape,
                          .is_decay = gguf == std::string_view("ssm_a")});
  };
  matrix(w.in_proj, "in_proj.weight", "ssm_in.weight", {rows, M});
  if (d.in_bias) vector(w.in_proj_bias, "in_proj.bias", "ssm_in.bias", {rows});
  vector(w.conv, "conv1d.weight", "ssm_conv1d.weight", {C, 1, W}, {C, W});
  if (d.conv_bias) vector(w.conv_bias, "conv1d.bias", "ssm_conv1d.bias", {C});
  if (d.state_maps) {  // float32 in all files: they are small, and what they keep is what counts
    const int64_t r = d.state_channels(), N = d.input_group_size();
    vector(w.b_map, "b_map.weight", "", {r, N});
    vector(w.c_map, "c_map.weight", "", {r, N});
  }
  vector(w.dt_bias, "dt_bias", "ssm_dt.bias", {H});
  vector(w.a_log, "A_log", "ssm_a", {H}, {H, 1});
  vector(w.d, "D", "ssm_d", {H}, {H, 1});
  if (d.has_gate_norm()) vector(w.gate_norm, "norm.weight", "ssm_norm.weight", {R}, {G, R / G});
  matrix(w.out_proj, "out_proj.weight", "ssm_out.weight", {M, R});
  if (d.out_bias) vector(w.out_proj_bias, "out_proj.bias", "ssm_out.bias", {M});
}

PartCost CostOf(const MixerDims& dims);

// Ready to run: the two matrices stay as stored (and mapped); the small vectors are float32. Factors are in
// the biases and in the scales of the products' columns, which are empty where all are 1.
struct Mixer {
  MixerDims dims;
  Tensor in_proj, out_proj;
  std::vector<float> in_proj_bias, conv_taps, conv_bias, dt_bias, a, d, gate_norm, out_proj_bias;
  Tensor b_map, c_map;           // float32; empty without state_maps
  std::vector<float> in_scale;   // (2R+2GN+H)
  std::vector<float> out_scale;  // (M)
};

// The factors of the blocks of rows of in_proj, one per row; empty if all are 1.
std::vector<float> BlockFactors(const MixerDims& dims);

// `stores_a`: the slot a_log holds A itself, as in GGUF files.
Mixer MakeMixer(const MixerDims& dims, const MixerWeights& weights, bool stores_a);

// Named parts of the input projection's output, or of its gradient, by column. Nothing is copied.
struct InProjParts {
  View z;    // (T, R)
  View xbc;  // (T, R+2GN): what the convolution reads
  View dt;   // (T, H)
};
InProjParts ViewInProj(View zxbcdt, const MixerDims& dims);

ConvWeights ViewConv(const Mixer& m);

// The scan's input from x: (T, R) and bc: (T, 2 sum N_g), B before C, and dt: (T, H) after softplus.
// `state_begin` is the mixer's own, or that of the channels left in bc. Mixer and state_begin must outlive
// the result.
ScanInput ViewScan(const Mixer& m, ConstView x, ConstView bc, ConstView dt, std::span<const int> state_begin,
                   std::span<const SequenceSpan> sequences);

}  // namespace ghost
