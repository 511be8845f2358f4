#include "model/backward.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/threads.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_backward.h"
#include "kernels/rows/gather.h"
#include "kernels/rows/gather_backward.h"
#include "kernels/rows/softmax.h"
#include "kernels/rows/softmax_backward.h"
#include "kernels/scan/ssm_scan_backward.h"
#include "model/block_views.h"
#include "model/token_ids.h"

namespace ghost {
namespace {

constexpr int64_t kLossRows = 512;  // rows of logits at a time: 100 MB for a vocabulary of 50 000

void CheckId(int32_t id, int vocab_size) {
  if (!IsTokenId(id, vocab_size)) ThrowBadTokenId(id, vocab_size);
}

double SumInOrder(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

}  // namespace

BackwardPass::BackwardPass(const Model& model, const GradientRequest& request, KeepPolicy policy)
    : model_(model), request_(request), policy_(policy) {
  for (const auto& layer : model.layers()) {
    if (!layer->mixer())
      throw Error(ErrorKind::kUnsupported, "gradients are only known for layers with a Mamba2 mixer");
  }
  memory_.resize(policy == KeepPolicy::kActivations ? model.layers().size() : 1);
}

View BackwardPass::Hidden(int layer) {
  const int64_t M = model_.config().d_model;
  return View(inputs_.data() + layer * rows_ * M, rows_, M);
}

// Layers take turns in the same memory.
std::span<const SequenceSpan> BackwardPass::EmptySequences(const BlockDims& dims) {
  const int64_t conv = dims.conv_state_floats(), all = conv + dims.state_floats(), count = rows_ / length_;
  const View memory = Grow(states_, count, all);
  spans_.resize(static_cast<size_t>(count));
  const auto clear = [&](int64_t s) {
    std::fill_n(memory.Row(s), all, 0.0f);
    spans_[static_cast<size_t>(s)] = {
        .begin = s * length_, .length = length_, .conv = memory.Row(s), .state = memory.Row(s) + conv};
  };
  ParallelFor(count, clear, /*work=*/count * all);
  return spans_;
}

BlockActivations BackwardPass::Activations(int layer, bool for_backward) {
  const BlockDims& dims = model_.config().blocks[static_cast<size_t>(layer)];
  LayerMemory& memory = memory_[policy_ == KeepPolicy::kActivations ? static_cast<size_t>(layer) : 0];
  BlockActivations act;
  act.normed = Grow(memory.normed, rows_, dims.d_model);
  act.zxbcdt = Grow(memory.zxbcdt, rows_, dims.in_proj_rows());
  act.xbc = Grow(memory.xbc, rows_, dims.conv_channels());
  act.dt = Grow(memory.dt, rows_, dims.num_heads);
  act.y = Grow(memory.y, rows_, dims.d_inner());
  act.gated = Grow(memory.gated, rows_, dims.d_inner());
  if (for_backward) {
    const int64_t chunks = (length_ + kScanChunk - 1) / kScanChunk;
    act.chunk_states = Grow(memory.chunk_states, chunks * (rows_ / length_), dims.state_floats()).data;
  }
  return act;
}

void BackwardPass::Begin(const TokenBatch& batch) {
  const int vocab_size = model_.config().vocab_size;
  const auto rows = static_cast<int64_t>(batch.tokens.size());
  if (batch.length < 1 || rows < 1) throw Error(ErrorKind::kUsage, "a batch needs at least one token");
  GHOST_CHECK(rows % batch.length == 0 && batch.targets.size() == batch.tokens.size());
  for (const int32_t id : batch.tokens) CheckId(id, vocab_size);
  for (const int32_t id : batch.targets) {
    if (id != kNoTarget) CheckId(id, vocab_size);
  }
  length_ = batch.length;
  rows_ = rows;
  attention_.clear();
  for (int64_t begin = 0; begin < rows; begin += length_) attention_.push_back({begin, length_});
}

double BackwardPass::Run(const TokenBatch& batch, double loss_scale, const ModelGradients& gradients,
                         const std::function<void(int layer)>& done) {
  Begin(batch);
  const bool keep = policy_ == KeepPolicy::kActivations;
  ForwardLayers(batch, /*for_backward=*/keep);
  const double loss = HeadBackward(batch, loss_scale, gradients);
  const int64_t M = model_.config().d_model;
  const bool hybrid = model_.config().num_hybrids() > 0;
  if (hybrid) std::fill_n(Grow(dembedded_, rows_, M).data, rows_ * M, 0.0f);
  for (int layer = model_.config().num_layers() - 1; layer >= 0; --layer) {
    ThrowIfInterrupted();
    BackwardLayer(layer, gradients.blocks[static_cast<size_t>(layer)]);
    if (done) done(layer);
  }
  const View dhidden(dhidden_.data(), rows_, M);
  if (hybrid) AddRows(ConstView(dembedded_.data(), rows_, M), dhidden);
  if (gradients.embedding.data) ScatterAddRows(batch.tokens, dhidden, gradients.embedding);
  return loss;
}

void BackwardPass::BackwardLayer(int index, const BlockGradients& gradients) {
  const Layer& layer = *model_.layers()[static_cast<size_t>(index)];
  const MambaBlock& b = *layer.mixer();
  const int64_t M = model_.config().d_model;
  const ConstView input = MixerInput(index);
  const BlockActivations act = Activations(index, /*for_backward=*/true);
  const std::span<const SequenceSpan> sequences = EmptySequences(b.dims);
  if (policy_ == KeepPolicy::kInputs) ForwardMixer(b, input, sequences, act);
  const View dhidden(dhidden_.data(), rows_, M);
  const HybridPart* part = layer.hybrid();
  if (!part) {
    BackwardBlock(b, input, sequences, act, dhidden, dhidden, scratch_, gradients);
    return;
  }
  const View dinput = Grow(dmixer_input_, rows_, M);
  std::fill_n(dinput.data, rows_ * M, 0.0f);
  BackwardBlock(b, input, sequences, act, dhidden, dinput, scratch_, gradients);
  AddRows(dinput, dhidden);  // input = hidden + the shared block's part
  BackwardShared(*part->block, part->own, attention_, shared_.Activations(*part->block, rows_), dinput,
                 shared_scratch_, dhidden, View(dembedded_.data(), rows_, M));
}

ConstView BackwardPass::MixerInput(int layer) {
  const HybridPart* part = model_.layers()[static_cast<size_t>(layer)]->hybrid();
  if (!part) return Hidden(layer);
  const View input = Grow(mixer_input_, rows_, model_.config().d_model);
  ForwardShared(*part->block, part->own, Hidden(layer), /*embedded=*/Hidden(0), attention_,
                shared_.Activations(*part->block, rows_), input);
  return input;
}

double BackwardPass::Loss(const TokenBatch& batch) {
  Begin(batch);
  ForwardLayers(batch, /*for_backward=*/false);
  return HeadLoss(batch);
}

void BackwardPass::ForwardLayers(const TokenBatch& batch, bool for_backward) {
  const ModelConfig& config = model_.config();
  Grow(inputs_, (config.num_layers() + 1) * rows_, config.d_model);
  GatherRows(WeightView(model_.weights().embedding), batch.tokens, Hidden(0));
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    ThrowIfInterrupted();
    const MambaBlock& b = *model_.layers()[static_cast<size_t>(layer)]->mixer();
    CopyRows(Hidden(layer), Hidden(layer + 1));
    ForwardBlock(b, MixerInput(layer), Hidden(layer + 1), EmptySequences(b.dims),
                 Activations(layer, for_backward));
  }
  const View final = Grow(final_, rows_, config.d_model);
  RmsNorm(Hidden(config.num_layers()), model_.final_norm().data(), config.norm_eps, final);
}

double BackwardPass::HeadLoss(const TokenBatch& batch) {
  const int64_t V = model_.config().vocab_size;
  const ConstView final(final_.data(), rows_, model_.config().d_model);
  std::vector<double> losses(static_cast<size_t>(rows_), 0.0);
  for (int64_t begin = 0; begin < rows_; begin += kLossRows) {
    const int64_t rows = std::min(kLossRows, rows_ - begin);
    const View logits = Grow(logits_, rows, V);
    MatMul(final.Rows(begin, rows), WeightView(model_.weights().head), logits);
    const auto score = [&](int64_t row) {
      const auto t = static_cast<size_t>(begin + row);
      if (batch.targets[t] == kNoTarget) return;
      losses[t] = -LogProb({logits.Row(row), static_cast<size_t>(V)}, batch.targets[t]);
    };
    ParallelFor(rows, score, /*work=*/rows * V * 10);
  }
  return SumInOrder(losses);
}

// From the last layer's output through final norm, head and loss back to dhidden_.
double BackwardPass::HeadBackward(const TokenBatch& batch, double loss_scale,
                                  const ModelGradients& gradients) {
  const ModelConfig& config = model_.config();
  const int64_t M = config.d_model, V = config.vocab_size;
  const WeightView head(model_.weights().head);
  const ConstView final(final_.data(), rows_, M);
  const View dfinal = Grow(dfinal_, rows_, M), dhidden = Grow(dhidden_, rows_, M);
  std::vector<double> losses(static_cast<size_t>(rows_), 0.0);
  for (int64_t begin = 0; begin < rows_; begin += kLossRows) {
    const int64_t rows = std::min(kLossRows, rows_ - begin);
    const View logits = Grow(logits_, rows, V);
    MatMul(final.Rows(begin, rows), head, logits);
    const auto differentiate = [&](int64_t row) {
      const auto t = static_cast<size_t>(begin + row);
      if (batch.targets[t] == kNoTarget) {
        std::fill_n(logits.Row(row), V, 0.0f);
        return;
      }
      losses[t] = SoftmaxCrossEntropyBackward({logits.Row(row), static_cast<size_t>(V)}, batch.targets[t],
                                              static_cast<float>(loss_scale));
    };
    ParallelFor(rows, differentiate, /*work=*/rows * V * 20);
    if (gradients.head.data) OuterAccumulate(logits, final.Rows(begin, rows), gradients.head);
    MatMulTransposed(logits, head, dfinal.Rows(begin, rows));
  }
  std::fill_n(dhidden.data, rows_ * M, 0.0f);
  RmsNormBackward(Hidden(config.num_layers()), model_.final_norm().data(), config.norm_eps, dfinal, dhidden,
                  gradients.final_norm.data);
  return SumInOrder(losses);
}

// What the request asks for, in memory that all layers share.
BlockGradients BackwardPass::SampleGradients(const BlockDims& dims) {
  const int64_t M = dims.d_model, C = dims.conv_channels(), W = dims.conv_width;
  const bool all_rows = request_.in_proj == InProjRows::kAll;
  const bool conv_bias = request_.conv && model_.config().conv_bias;
  const int64_t rows = all_rows ? dims.in_proj_rows() : 2 * dims.state_channels();
  const int64_t conv = request_.conv ? C * W : 0, all = rows * M + conv + (conv_bias ? C : 0);
  float* memory = Grow(sample_gradients_, 1, std::max<int64_t>(all, 1)).data;
  std::fill_n(memory, all, 0.0f);
  BlockGradients gradients;
  gradients.first_row = all_rows ? 0 : 2 * dims.d_inner();
  gradients.in_proj = View(memory, rows, M);
  if (request_.conv) gradients.conv = View(memory + rows * M, C, W);
  if (conv_bias) gradients.conv_bias = View(memory + rows * M + conv, 1, C);
  return gradients;
}

double BackwardPass::Run(std::span<const int32_t> tokens, double loss_scale, const GradientSink& sink) {
  if (tokens.size() < 2) {
    throw Error(ErrorKind::kUsage, "a sample needs at least two tokens to have a loss",
                {.expected = "2 or more", .actual = std::to_string(tokens.size())});
  }
  std::vector<int32_t> targets(tokens.begin() + 1, tokens.end());
  targets.push_back(kNoTarget);
  const std::vector<BlockDims>& blocks = model_.config().blocks;
  ModelGradients gradients;
  gradients.blocks.resize(blocks.size());
  // Large enough for every layer before views are handed out: the layers with the most rows may come last.
  for (const BlockDims& dims : blocks) SampleGradients(dims);
  for (size_t layer = 0; layer < blocks.size(); ++layer)
    gradients.blocks[layer] = SampleGradients(blocks[layer]);
  const auto done = [&](int layer) {
    sink(layer, gradients.blocks[static_cast<size_t>(layer)]);
    if (layer > 0) SampleGradients(blocks[static_cast<size_t>(layer) - 1]);  // zeros for the next one
  };
  SampleGradients(blocks.back());
  return Run({tokens, targets, static_cast<int64_t>(tokens.size())}, loss_scale, gradients, done);
}

}  // namespace ghost
