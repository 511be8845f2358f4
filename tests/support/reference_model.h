// A whole model, its loss and every gradient in float64, on ReferenceBlock: slow and simple, for tests.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "model/backward.h"
#include "model/model.h"
#include "tests/support/reference_block.h"

namespace ghost {

struct ReferenceModel {
  bool tied = true;
  double eps = 1e-5;
  DoubleMatrix embedding, head;  // `head` is not used when tied
  std::vector<double> final_norm;
  std::vector<ReferenceBlock> blocks;

  struct Gradients {
    double loss = 0;               // the sum of -log p over all targets, whose gradients these are
    DoubleMatrix embedding, head;  // if tied, `embedding` includes the head's gradient
    std::vector<double> final_norm;
    std::vector<ReferenceBlock::Gradients> layers;
  };

  explicit ReferenceModel(const Model& model) : tied(model.config().tied_head), eps(model.config().norm_eps) {
    embedding = ToDoubles(model.weights().embedding);
    if (!tied) head = ToDoubles(model.weights().head);
    final_norm.assign(model.final_norm().begin(), model.final_norm().end());
    for (const Step& step : model.steps()) blocks.emplace_back(step);
  }

  double Loss(const TokenBatch& batch) const {
    double loss = 0;
    ForEachSequence(batch, [&](std::span<const int32_t> tokens, std::span<const int32_t> targets) {
      DoubleMatrix u = Embed(tokens);
      for (const ReferenceBlock& block : blocks) u = block.Forward(u).out;
      DoubleMatrix logits = Logits(u);
      loss += LossOf(logits, targets);
    });
    return loss;
  }

  Gradients Backward(const TokenBatch& batch) const {
    Gradients sum;
    sum.embedding = DoubleMatrix(embedding.rows, embedding.cols);
    sum.head = DoubleMatrix(embedding.rows, embedding.cols);
    sum.final_norm.resize(final_norm.size(), 0.0);
    sum.layers.resize(blocks.size());
    ForEachSequence(batch, [&](std::span<const int32_t> tokens, std::span<const int32_t> targets) {
      AddSequence(tokens, targets, sum);
    });
    if (tied) AddTo(sum.embedding.values, sum.head.values);
    return sum;
  }

 private:
  template <class Body>
  static void ForEachSequence(const TokenBatch& batch, const Body& body) {
    const auto L = static_cast<size_t>(batch.length);
    for (size_t begin = 0; begin < batch.tokens.size(); begin += L) {
      body(batch.tokens.subspan(begin, L), batch.targets.subspan(begin, L));
    }
  }

  static void AddTo(std::vector<double>& to, const std::vector<double>& from) {
    to.resize(from.size(), 0.0);
    for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }
  static void AddTo(DoubleMatrix& to, const DoubleMatrix& from) {
    to.rows = from.rows, to.cols = from.cols;
    AddTo(to.values, from.values);
  }

  const DoubleMatrix& Head() const { return tied ? embedding : head; }

  DoubleMatrix Embed(std::span<const int32_t> tokens) const {
    DoubleMatrix u(static_cast<int64_t>(tokens.size()), embedding.cols);
    for (int64_t t = 0; t < u.rows; ++t) {
      for (int64_t m = 0; m < u.cols; ++m) u.At(t, m) = embedding.At(tokens[static_cast<size_t>(t)], m);
    }
    return u;
  }

  DoubleMatrix Logits(const DoubleMatrix& u) const {
    return TimesTransposed(ReferenceNorm(u.view(), final_norm, eps, 1), Head());
  }

  // Replaces the logits by their gradients.
  static double LossOf(DoubleMatrix& logits, std::span<const int32_t> targets) {
    double loss = 0;
    for (int64_t t = 0; t < logits.rows; ++t) {
      const int32_t target = targets[static_cast<size_t>(t)];
      double sum = 0;
      for (int64_t v = 0; v < logits.cols; ++v) sum += std::exp(logits.At(t, v));
      if (target != kNoTarget) loss += std::log(sum) - logits.At(t, target);
      for (int64_t v = 0; v < logits.cols; ++v) {
        logits.At(t, v) =
            target == kNoTarget ? 0 : std::exp(logits.At(t, v)) / sum - (v == target ? 1.0 : 0.0);
      }
    }
    return loss;
  }

  void AddSequence(std::span<const int32_t> tokens, std::span<const int32_t> targets, Gradients& sum) const {
    DoubleMatrix u = Embed(tokens);
    std::vector<ReferenceBlock::Activations> activations;
    for (const ReferenceBlock& block : blocks) {
      activations.push_back(block.Forward(u));
      u = activations.back().out;
    }
    const DoubleMatrix final = ReferenceNorm(std::as_const(u).view(), final_norm, eps, 1);
    DoubleMatrix dlogits = Logits(u);
    sum.loss += LossOf(dlogits, targets);
    AddTo(sum.head, Times(Transposed(dlogits), final));
    DoubleMatrix du(u.rows, u.cols);
    const DoubleMatrix dfinal = Times(dlogits, Head());
    RmsNormBackwardRef<double>(std::as_const(u).view(), final_norm.data(), eps, dfinal.view(), du.view(),
                               sum.final_norm.data());
    for (size_t layer = blocks.size(); layer-- > 0;) {
      const ReferenceBlock::Gradients g = blocks[layer].Backward(activations[layer], du);
      ReferenceBlock::Gradients& to = sum.layers[layer];
      AddTo(to.in_proj, g.in_proj), AddTo(to.out_proj, g.out_proj), AddTo(to.norm, g.norm);
      AddTo(to.in_proj_bias, g.in_proj_bias), AddTo(to.conv_taps, g.conv_taps);
      AddTo(to.conv_bias, g.conv_bias), AddTo(to.dt_bias, g.dt_bias), AddTo(to.a, g.a), AddTo(to.d, g.d);
      AddTo(to.gate_norm, g.gate_norm), AddTo(to.out_proj_bias, g.out_proj_bias);
      du = g.u;
    }
    for (int64_t t = 0; t < du.rows; ++t) {
      for (int64_t m = 0; m < du.cols; ++m)
        sum.embedding.At(tokens[static_cast<size_t>(t)], m) += du.At(t, m);
    }
  }
};

}  // namespace ghost
