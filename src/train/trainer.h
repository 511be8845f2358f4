// Training of a Mamba2 model on text, alone or by imitating another model: batches, gradients, clipping,
// AdamW.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/ordered_sums.h"
#include "kernels/optimise/schedule.h"
#include "model/backward.h"
#include "model/model.h"
#include "train/adamw.h"
#include "train/parameters.h"
#include "train/windows.h"

namespace ghost {

enum class Initialization { kMamba2, kMimetic };  // parameters.h, mimetic_init.h

struct TrainerSettings {
  Schedule schedule;
  AdamWSettings adamw;
  int64_t length = 512;     // L: tokens of a window
  int64_t batch = 16;       // windows of an update
  int64_t micro_batch = 8;  // windows that go through the model together
  double clip = 1.0;        // largest gradient norm; 0 = none
  uint64_t seed = 42;       // of the weights
  Initialization init = Initialization::kMamba2;
  const ModelWeights* start = nullptr;  // weights to continue from instead; needed by the constructor only
  // Another model to imitate (BackwardPass::LearnFrom), of the same vocabulary; must outlive the trainer.
  const Model* teacher = nullptr;
  double teacher_weight = 0.0;             // 0 to 1
  std::vector<std::string> train_tensors;  // patterns of FreezeOthers; empty: all tensors are trained
  // Elements of matrices and convolutions that are zero stay zero: they are what a mask has set to zero.
  bool keep_zeros = false;
};

struct ValidationPoint {
  int64_t step = 0;  // updates done
  double nll = 0;    // mean -log p per token
};

// What happened so far: one entry per update.
struct TrainingHistory {
  std::vector<double> losses;          // mean per token, before the update: -log p, or with a teacher's part
  std::vector<double> gradient_norms;  // before clipping
  std::vector<ValidationPoint> validations;
};

// One thread uses a Trainer at a time. Weights after every step are the same to the bit for every number of
// threads and of processes, and the same whether a run was interrupted and resumed or not. Processes of a
// team (base/team.h) share the micro-batches of an update, and each makes the whole update: all hold the
// weights.
class Trainer {
 public:
  // `source` must outlive it. Settings that cannot be are Error(kUsage).
  Trainer(const ModelConfig& config, const TrainerSettings& settings, WindowSource& source);

  // One update; windows [step * batch, (step + 1) * batch) of the source. An interruption (base/interrupt.h)
  // leaves the trainer as it was before the call. A loss that is no number is Error(kUsage).
  void Step();

  // Mean -log p over all windows of L + 1 tokens that follow each other in `windows`.
  double MeanLoss(std::span<const int32_t> windows);

  int64_t step() const { return step_; }  // updates done
  const Model& model() const { return model_; }
  const ParameterLayout& layout() const { return layout_; }
  TrainingHistory& history() { return history_; }
  const TrainingHistory& history() const { return history_; }

  // Everything a later run needs, as a directory that appears whole or not at all, replacing an earlier one.
  // `fingerprint` says what the result depends on.
  void Save(const std::string& directory, const OrderedJson& fingerprint) const;
  // Error(kUsage) for the state of another run, Error(kCorrupt) for a damaged one.
  void Load(const std::string& directory, const OrderedJson& fingerprint);

 private:
  double AddGradients();
  void KeepZeros();

  ModelConfig config_;
  TrainerSettings settings_;
  WindowSource& source_;
  ParameterLayout layout_;
  std::shared_ptr<Buffer> weights_;
  Buffer gradients_;
  ModelGradients gradient_views_;
  OrderedSums<float> gradient_sums_;  // over micro-batches
  AdamW optimizer_;
  Model model_;  // aliases weights_; made again after every update
  BackwardPass pass_;
  int64_t step_ = 0;
  TrainingHistory history_;
};

}  // namespace ghost
