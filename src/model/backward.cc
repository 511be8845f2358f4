#include "model/backward.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/threads.h"
#include "kernels/conv1d.h"
#include "kernels/conv1d_backward.h"
#include "kernels/gather.h"
#include "kernels/matmul.h"
#include "kernels/matmul_backward.h"
#include "kernels/norm.h"
#include "kernels/norm_backward.h"
#include "kernels/softmax_backward.h"
#include "kernels/ssm_scan_backward.h"
#include "model/mamba_layer.h"

namespace ghost {
namespace {

constexpr int64_t kLossRows = 512;  // rows of logits at a time: 100 MB for a vocabulary of 50 000

void CheckTokens(std::span<const int32_t> tokens, int vocab_size) {
  if (tokens.size() < 2) {
    throw Error(ErrorKind::kUsage, "a sample needs at least two tokens to have a loss",
                {.expected = "2 or more", .actual = std::to_string(tokens.size())});
  }
  for (const int32_t id : tokens) {
    if (id < 0 || id >= vocab_size) {
      throw Error(ErrorKind::kUsage, "token id is outside the model's vocabulary",
                  {.expected = "0 to " + std::to_string(vocab_size - 1), .actual = std::to_string(id)});
    }
  }
}

// The parts of the input projection's output, or of its gradient, by column; nothing is copied.
struct InProjParts {
  View z, xbc, dt;
};

InProjParts ViewInProj(View zxbcdt, const BlockDims& dims) {
  const int64_t R = dims.d_inner(), C = dims.conv_channels(), H = dims.num_heads;
  return {zxbcdt.Cols(0, R), zxbcdt.Cols(R, C), zxbcdt.Cols(R + C, H)};
}

ScanInput ViewScan(View xbc, View dt, const MambaBlock& b, std::span<const SequenceSpan> sequences) {
  const int64_t R = b.dims.d_inner(), GN = b.dims.state_channels();
  return {.num_heads = b.dims.num_heads,
          .head_dim = b.dims.head_dim,
          .group_begin = b.dims.group_begin,
          .x = xbc.Cols(0, R),
          .b = xbc.Cols(R, GN),
          .c = xbc.Cols(R + GN, GN),
          .dt = dt,
          .a = b.a.data(),
          .d = b.d.data(),
          .sequences = sequences};
}

const float* DataOrNull(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

View Take(Buffer& buffer, int64_t rows, int64_t cols) {
  if (buffer.size() < rows * cols) buffer = Buffer(rows * cols);
  return View(buffer.data(), rows, cols);
}

void Copy(ConstView from, View to) {
  for (int64_t t = 0; t < from.rows; ++t) std::copy_n(from.Row(t), from.cols, to.Row(t));
}

void Zero(View view) {
  for (int64_t t = 0; t < view.rows; ++t) std::fill_n(view.Row(t), view.cols, 0.0f);
}

}  // namespace

BackwardPass::BackwardPass(const Model& model, const GradientRequest& request)
    : model_(model), request_(request) {
  for (const auto& layer : model.layers()) {
    const auto* mamba = dynamic_cast<const MambaLayer*>(layer.get());
    if (!mamba) throw Error(ErrorKind::kUnsupported, "gradients are only known for Mamba2 blocks");
    layers_.push_back(mamba);
  }
}

double BackwardPass::Run(std::span<const int32_t> tokens, double loss_scale, const GradientSink& sink) {
  CheckTokens(tokens, model_.config().vocab_size);
  length_ = static_cast<int64_t>(tokens.size());
  KeepLayerInputs(tokens);
  const double loss = LossBackward(tokens, loss_scale);
  for (int layer = model_.config().num_layers() - 1; layer >= 0; --layer) {
    ThrowIfInterrupted();
    LayerBackward(layer, sink);
  }
  return loss;
}

// One sequence of all L rows; layers take turns in the same memory.
SequenceSpan BackwardPass::EmptySequence(const BlockDims& dims) {
  const int64_t conv = dims.conv_state_floats(), all = conv + dims.state_floats();
  float* memory = Take(state_, 1, all).data;
  std::fill_n(memory, all, 0.0f);
  return {.begin = 0, .length = length_, .conv = memory, .state = memory + conv};
}

void BackwardPass::KeepLayerInputs(std::span<const int32_t> tokens) {
  const ModelConfig& config = model_.config();
  const int64_t L = length_, M = config.d_model, layers = config.num_layers();
  const View all = Take(inputs_, (layers + 1) * L, M);
  GatherRows(WeightView(model_.weights().embedding), tokens, all.Rows(0, L));
  for (int layer = 0; layer < layers; ++layer) {
    ThrowIfInterrupted();
    const View out = all.Rows((layer + 1) * L, L);
    Copy(all.Rows(layer * L, L), out);
    const SequenceSpan span = EmptySequence(config.blocks[static_cast<size_t>(layer)]);
    layers_[static_cast<size_t>(layer)]->Forward({out, {&span, 1}, scratch_});
  }
}

// From the last layer's output through final norm, head and loss back to dhidden_.
double BackwardPass::LossBackward(std::span<const int32_t> tokens, double loss_scale) {
  const ModelConfig& config = model_.config();
  const int64_t L = length_, M = config.d_model, V = config.vocab_size;
  const ConstView hidden =
      View(inputs_.data(), (config.num_layers() + 1) * L, M).Rows(config.num_layers() * L, L);
  const WeightView head(model_.weights().head);
  const View final = Take(final_, L, M), dfinal = Take(dnormed_, L, M), dhidden = Take(dhidden_, L, M);
  RmsNorm(hidden, model_.final_norm().data(), config.norm_eps, final);
  Zero(dfinal.Rows(L - 1, 1));  // the last token has no target
  std::vector<double> losses(static_cast<size_t>(L - 1));
  for (int64_t begin = 0; begin < L - 1; begin += kLossRows) {
    const int64_t rows = std::min(kLossRows, L - 1 - begin);
    const View logits = Take(logits_, rows, V);
    MatMul(final.Rows(begin, rows), head, logits);
    const auto differentiate = [&](int64_t row) {
      const auto t = static_cast<size_t>(begin + row);
      losses[t] = SoftmaxCrossEntropyBackward({logits.Row(row), static_cast<size_t>(V)}, tokens[t + 1],
                                              static_cast<float>(loss_scale));
    };
    ParallelFor(rows, differentiate, /*work=*/rows * V * 20);
    MatMulTransposed(logits, head, dfinal.Rows(begin, rows));
  }
  Zero(dhidden);
  RmsNormBackward(hidden, model_.final_norm().data(), config.norm_eps, dfinal, dhidden);
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

void BackwardPass::LayerBackward(int layer, const GradientSink& sink) {
  const MambaBlock& b = *layers_[static_cast<size_t>(layer)]->mixer();
  const BlockDims& dims = b.dims;
  const int64_t L = length_, M = dims.d_model, R = dims.d_inner(), C = dims.conv_channels(),
                H = dims.num_heads;
  const int64_t GN = dims.state_channels();
  const ConstView u = View(inputs_.data(), (model_.config().num_layers() + 1) * L, M).Rows(layer * L, L);
  const View dhidden(dhidden_.data(), L, M);

  const ConvWeights conv_weights{b.conv_taps.data(), DataOrNull(b.conv_bias), dims.conv_width};
  const View normed = scratch_.normed(L, M), zxbcdt = scratch_.zxbcdt(L, dims.in_proj_rows());
  const View xbc = scratch_.xbc(L, C), dt = scratch_.dt(L, H), y = scratch_.y(L, R);
  const InProjParts in = ViewInProj(zxbcdt, dims);

  // Forward once more, up to the scan's output; see MambaLayer::Forward.
  const SequenceSpan span = EmptySequence(dims);
  const ScanInput scan = ViewScan(xbc, dt, b, {&span, 1});
  const View chunk_states = Take(chunk_states_, 1, ChunkStatesFloats(scan));
  RmsNorm(u, b.norm.data(), b.eps, normed);
  MatMul(normed, WeightView(b.in_proj), zxbcdt, {.bias = DataOrNull(b.in_proj_bias)});
  CausalConvSilu(in.xbc, conv_weights, {&span, 1}, xbc);
  SoftplusClamp(in.dt, b.dt_bias.data(), b.dt_min, b.dt_max, dt);
  SsmScanChunks(scan, y, chunk_states.data);

  const View dgated = Take(dgated_, L, R), dxbc = Take(dxbc_, L, C), ddt = Take(ddt_, L, H);
  const View dzxbcdt = Take(dzxbcdt_, L, dims.in_proj_rows()), dnormed = Take(dnormed_, L, M);
  const InProjParts d_in = ViewInProj(dzxbcdt, dims);
  const View conv = Take(conv_gradient_, C, dims.conv_width), conv_bias = Take(conv_bias_gradient_, 1, C);
  Zero(conv);
  Zero(conv_bias);

  MatMulTransposed(dhidden, WeightView(b.out_proj), dgated);  // (L, R)
  GatedRmsNormBackward(y, in.z, b.gate_norm.data(), b.eps, b.norm_groups, dgated,
                       {.y = dgated, .z = d_in.z});  // (L, R): from here on dgated is dy
  SsmScanBackward(scan, chunk_states.data, dgated,
                  {.x = dxbc.Cols(0, R), .b = dxbc.Cols(R, GN), .c = dxbc.Cols(R + GN, GN), .dt = ddt});
  SoftplusClampBackward(in.dt, b.dt_bias.data(), b.dt_min, b.dt_max, ddt, d_in.dt);  // (L, H)
  CausalConvSiluBackward(in.xbc, conv_weights, dxbc,
                         {.in = d_in.xbc, .taps = conv.data, .bias = conv_bias.data});

  BlockGradients gradients;
  const bool all_rows = request_.in_proj == InProjRows::kAll;
  gradients.first_row = all_rows ? 0 : static_cast<int>(2 * R);
  const int64_t rows = all_rows ? dims.in_proj_rows() : 2 * GN;
  const View in_proj = Take(in_proj_gradient_, rows, M);
  Zero(in_proj);
  OuterAccumulate(dzxbcdt.Cols(gradients.first_row, rows), normed, in_proj);  // (rows, M)
  gradients.in_proj = in_proj;
  if (request_.conv) gradients.conv = conv;
  if (request_.conv && !b.conv_bias.empty()) gradients.conv_bias = conv_bias;
  sink(layer, gradients);

  MatMulTransposed(dzxbcdt, WeightView(b.in_proj), dnormed);   // (L, M)
  RmsNormBackward(u, b.norm.data(), b.eps, dnormed, dhidden);  // (L, M), beside the residual path
}

}  // namespace ghost
