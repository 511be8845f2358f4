// What the weights of a training run depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/config.h"

namespace ghost {

// A text and what was made of it.
struct TrainingText {
  std::string file;  // its name without folders; empty: none
  std::optional<uint64_t> tokens;
  std::string ids;  // hash of the token ids
};

// A saved state can be resumed only by a run with an equal record.
struct TrainingRun {
  ModelConfig config;
  TrainingText corpus;
  std::string init;
  std::string teacher;  // its name and content hash; empty: none
  double teacher_weight = 0.0;
  std::string train_tensors = "all";  // or patterns
  double recall_fraction = 0.0;
  int64_t recall_first = 0;
  TrainingText validation;
  int64_t validate_every = 0, steps = 0, batch = 0, micro_batch = 0, length = 0;
  double lr = 0.0, lr_floor = 0.0;
  int64_t warmup = 0;
  double weight_decay = 0.0, clip = 0.0;
  std::vector<double> betas;
  uint64_t seed = 0;

  // Every setting but the configuration, with its name.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    visit("corpus", corpus);
    visit("init", init);
    visit("teacher", teacher);
    visit("teacher_weight", teacher_weight);
    visit("train_tensors", train_tensors);
    visit("recall_fraction", recall_fraction);
    visit("recall_first", recall_first);
    visit("validation", validation);
    visit("validate_every", validate_every);
    visit("steps", steps);
    visit("batch", batch);
    visit("micro_batch", micro_batch);
    visit("length", length);
    visit("lr", lr);
    visit("lr_floor", lr_floor);
    visit("warmup", warmup);
    visit("weight_decay", weight_decay);
    visit("clip", clip);
    visit("betas", betas);
    visit("seed", seed);
  }
};

OrderedJson ToJson(const TrainingRun& run);

// The settings as rows of a model card, name and value.
std::vector<std::pair<std::string, std::string>> CardSettings(const TrainingRun& run);

}  // namespace ghost
