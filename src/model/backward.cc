#include "model/backward.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/threads.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_backward.h"
#include "kernels/rows/gather.h"
#include "kernels/rows/gather_backward.h"
#include "kernels/rows/scale.h"
#include "kernels/rows/softmax.h"
#include "kernels/rows/softmax_backward.h"
#include "model/token_ids.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

constexpr int64_t kLossRows = 512;  // rows of logits at a time: 100 MB for a vocabulary of 50 000

void CheckId(int32_t id, int vocab_size) {
  if (!IsTokenId(id, vocab_size)) ThrowBadTokenId(id, vocab_size);
}

// What the head of `runner` reads: (T, M of its model), valid until it is called again.
ConstView RunBatch(const TokenBatch& batch, Runner& runner) {
  std::vector<SequenceInput> inputs;
  const auto length = static_cast<size_t>(batch.length);
  for (size_t begin = 0; begin < batch.tokens.size(); begin += length)
    inputs.push_back({.tokens = batch.tokens.subspan(begin, length)});
  return runner.Forward(inputs);
}

double SumInOrder(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

}  // namespace

BackwardPass::BackwardPass(const Model& model, const GradientRequest& request, KeepPolicy policy)
    : model_(model),
      request_(request),
      policy_(policy),
      kept_(policy == KeepPolicy::kActivations ? model.steps().size() : 1) {}

View BackwardPass::Hidden(int step) {
  const int64_t M = model_.config().d_model;
  return View(inputs_.data() + step * rows_ * M, rows_, M);
}

Workspace& BackwardPass::KeptOf(const Step& step) {
  return kept_[policy_ == KeepPolicy::kActivations ? static_cast<size_t>(step.number) : 0];
}

Pass BackwardPass::MakePass(bool for_backward) {
  return {.sequences = sequences_, .embedded = Hidden(0), .for_backward = for_backward, .scratch = &scratch_};
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
  rows_ = rows;
  sequences_ = EqualSequences(rows, batch.length);
}

void BackwardPass::LearnFrom(const Model& teacher, double weight) {
  GHOST_CHECK(teacher.config().vocab_size == model_.config().vocab_size && weight >= 0 && weight <= 1);
  teacher_.reset();
  if (weight > 0) teacher_.emplace(teacher);
  teacher_weight_ = weight;
}

double BackwardPass::Run(const TokenBatch& batch, double loss_scale, const ModelGradients& gradients,
                         const std::function<void(int mixer)>& done) {
  Begin(batch);
  const bool keep = policy_ == KeepPolicy::kActivations;
  ForwardSteps(batch, /*for_backward=*/keep);
  const double loss = HeadBackward(batch, loss_scale, gradients);
  const int64_t M = model_.config().d_model;
  const View dhidden(dhidden_.data(), rows_, M);
  View dembedded;
  if (model_.reads_embeddings()) {
    dembedded = Grow(dembedded_, rows_, M);
    ZeroRows(dembedded);
  }
  const Pass pass = MakePass(/*for_backward=*/true);
  for (int number = model_.config().num_steps() - 1; number >= 0; --number) {
    ThrowIfInterrupted();
    const Step& step = model_.steps()[static_cast<size_t>(number)];
    if (!keep) RecomputeStep(step, Hidden(number), pass, KeptOf(step));
    BackwardStep(step, Hidden(number), {pass, KeptOf(step), scratch_}, dhidden, dembedded, gradients);
    if (done && step.mixer) done(step.mixer_ordinal);
  }
  if (model_.reads_embeddings()) AddRows(dembedded, dhidden);
  if (gradients.embedding.data) {
    const float factor = model_.config().embedding_factor;
    if (factor != 1.0f) ScaleRows(dhidden, factor, dhidden);
    ScatterAddRows(batch.tokens, dhidden, gradients.embedding);
  }
  return loss;
}

double BackwardPass::Loss(const TokenBatch& batch) {
  Begin(batch);
  ForwardSteps(batch, /*for_backward=*/false);
  return HeadLoss(batch);
}

void BackwardPass::ForwardSteps(const TokenBatch& batch, bool for_backward) {
  const ModelConfig& config = model_.config();
  Grow(inputs_, (config.num_steps() + 1) * rows_, config.d_model);
  model_.Embed(batch.tokens, Hidden(0));
  const Pass pass = MakePass(for_backward);
  for (const Step& step : model_.steps()) {
    ThrowIfInterrupted();
    const View after = Hidden(step.number + 1);
    CopyRows(Hidden(step.number), after);
    ForwardStep(step, after, pass, KeptOf(step));
  }
  const View final = Grow(final_, rows_, config.d_model);
  RmsNorm(Hidden(config.num_steps()), model_.final_norm().data(), config.norm_eps, final);
}

double BackwardPass::HeadLoss(const TokenBatch& batch) {
  const int64_t V = model_.config().vocab_size;
  const ConstView final(final_.data(), rows_, model_.config().d_model);
  std::vector<double> losses(static_cast<size_t>(rows_), 0.0);
  for (int64_t begin = 0; begin < rows_; begin += kLossRows) {
    const int64_t rows = std::min(kLossRows, rows_ - begin);
    const View logits = Grow(logits_, rows, V);
    Apply(model_.head(), final.Rows(begin, rows), logits);
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
  const Linear& head = model_.head();
  // Of the product with the head, before the factor of the logits.
  const auto gradient_scale = static_cast<float>(loss_scale * config.head_factor);
  const ConstView final(final_.data(), rows_, M);
  const ConstView taught = teacher_ ? RunBatch(batch, *teacher_) : ConstView();
  const View dfinal = Grow(dfinal_, rows_, M), dhidden = Grow(dhidden_, rows_, M);
  std::vector<double> losses(static_cast<size_t>(rows_), 0.0);
  for (int64_t begin = 0; begin < rows_; begin += kLossRows) {
    const int64_t rows = std::min(kLossRows, rows_ - begin);
    const View logits = Grow(logits_, rows, V);
    Apply(head, final.Rows(begin, rows), logits);
    const ConstView wanted = teacher_ ? teacher_->Logits(taught.Rows(begin, rows)) : ConstView();
    const auto differentiate = [&](int64_t row) {
      const int32_t target = batch.targets[static_cast<size_t>(begin + row)];
      const std::span<float> values(logits.Row(row), static_cast<size_t>(V));
      double& loss = losses[static_cast<size_t>(begin + row)];
      if (target == kNoTarget) {
        std::ranges::fill(values, 0.0f);
      } else if (teacher_) {
        loss = DistillationBackward(values, {wanted.Row(row), values.size()}, target,
                                    static_cast<float>(teacher_weight_), gradient_scale);
      } else {
        loss = SoftmaxCrossEntropyBackward(values, target, gradient_scale);
      }
    };
    ParallelFor(rows, differentiate, /*work=*/rows * V * 20);
    if (gradients.head.data) OuterAccumulate(logits, final.Rows(begin, rows), gradients.head);
    MatMulTransposed(logits, WeightView(head.weight), dfinal.Rows(begin, rows));
  }
  std::fill_n(dhidden.data, rows_ * M, 0.0f);
  RmsNormBackward(Hidden(config.num_steps()), model_.final_norm().data(), config.norm_eps, dfinal, dhidden,
                  gradients.final_norm.data);
  return SumInOrder(losses);
}

// What the request asks for, as zeros, in memory that all mixers share.
MixerGradients BackwardPass::SampleGradients(const MixerDims& dims) {
  const int64_t M = dims.d_model, C = dims.conv_channels(), W = dims.conv_width;
  const bool all_rows = request_.in_proj == InProjRows::kAll;
  const bool conv_bias = request_.conv && dims.conv_bias;
  const int64_t rows = all_rows ? dims.in_proj_rows() : 2 * dims.input_channels();
  const int64_t conv = request_.conv ? C * W : 0, all = rows * M + conv + (conv_bias ? C : 0);
  float* memory = Grow(sample_gradients_, 1, std::max<int64_t>(all, 1)).data;
  std::fill_n(memory, all, 0.0f);
  MixerGradients gradients;
  gradients.first_row = all_rows ? 0 : dims.b_row();
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
  const std::vector<MixerDims>& mixers = model_.config().mixers;
  ModelGradients gradients(model_.config());
  // Large enough for every mixer before views are handed out: the one with the most rows may come last.
  for (const MixerDims& dims : mixers) SampleGradients(dims);
  for (size_t i = 0; i < mixers.size(); ++i) gradients.mixers[i] = SampleGradients(mixers[i]);
  const auto done = [&](int mixer) {
    sink(mixer, gradients.mixers[static_cast<size_t>(mixer)]);
    if (mixer > 0) SampleGradients(mixers[static_cast<size_t>(mixer) - 1]);  // zeros for the next one
  };
  SampleGradients(mixers.back());
  return Run({tokens, targets, static_cast<int64_t>(tokens.size())}, loss_scale, gradients, done);
}

}  // namespace ghost
