// How well a model predicts given tokens, from rows of a pass behind its final norm; and, beside another
// model that ran the same tokens, how far its predictions moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/runner.h"
#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// A token to be predicted from a row.
struct Prediction {
  int64_t row = 0;
  int32_t token = 0;
};

struct PredictionScore {
  bool correct = false;  // the most likely token; padding rows of the vocabulary are never chosen
  double nll = 0.0;      // -log p of the token, natural log
  double kl = 0.0;       // of the row's distribution from the reference's; 0 without one
};

// The model must outlive it. One thread uses it at a time. Results do not depend on the number of threads.
class PredictionScorer {
 public:
  explicit PredictionScorer(const Model& model) : model_(model), runner_(model), reference_runner_(model) {}

  // One score per prediction. hidden: (T, M). The head runs only on the rows that predict something, a few
  // at a time. `reference`, (T, M) or empty, holds the same rows of a model with the same head.
  std::vector<PredictionScore> Score(ConstView hidden, std::span<const Prediction> predictions,
                                     ConstView reference = {});

 private:
  const Model& model_;
  Runner runner_, reference_runner_;  // for their logits
  Buffer gathered_;
};

}  // namespace ghost
