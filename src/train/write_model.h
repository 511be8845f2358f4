// The result of a training run as a Hugging Face checkpoint directory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "train/trainer.h"

namespace ghost {

struct TrainedOutput {
  std::string path;
  bool force = false;          // replace an existing directory
  DType dtype = DType::kBF16;  // of the matrices; small tensors stay float32
  std::string tokenizer;       // tokenizer.json, or a directory with one, to copy
  int32_t eos_id = -1;         // what ends a document; -1 where the tokenizer has none
  OrderedJson config;          // config.json but for the type and the special tokens
  std::string ghost;           // ghost.json of a pruned model that was trained further; empty: none
  // What the trainer started from, if it was a model: frozen tensors are written as they are stored there.
  const ModelWeights* start = nullptr;
  OrderedJson document;    // training.json
  std::string model_card;  // README.md
  std::string curve;       // curve.svg, which the card shows
};

// config.json, model.safetensors, tokenizer files, ghost.json if there is one, training.json, README.md and
// curve.svg, whole or not at all.
void WriteTrainedModel(const Trainer& trainer, const TrainedOutput& output);

struct LossPoint {
  uint64_t step = 0;  // the last of a stretch
  double loss = 0.0;  // mean over the stretch
};
// At most `points` equally long stretches of the run.
std::vector<LossPoint> ThinLossCurve(const std::vector<double>& losses, size_t points);

// A measurement on held-out text.
struct ValidationSummary {
  int64_t step = 0;
  double nll = 0.0, perplexity = 0.0, bits_per_byte = 0.0;
};

// README.md: what the model is, what it was trained on and how, the loss curve, and the command.
struct TrainingCardFacts {
  ModelConfig config;
  int64_t parameters = 0;
  std::string ghost_version;
  int64_t tokens = 0;                                         // seen in training
  std::string start;                                          // the model it continues; empty: none
  std::vector<std::pair<std::string, std::string>> settings;  // name and value
  std::vector<LossPoint> losses;
  std::vector<ValidationSummary> validations;
  std::string command;
};
std::string MakeTrainingCard(const TrainingCardFacts& facts);

}  // namespace ghost
