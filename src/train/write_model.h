// The result of a training run as a Hugging Face checkpoint directory.
#pragma once

#include <string>

#include "base/json.h"
#include "train/trainer.h"

namespace ghost {

struct TrainedOutput {
  std::string path;
  bool force = false;          // replace an existing directory
  DType dtype = DType::kBF16;  // of the matrices; small tensors stay float32
  std::string tokenizer;       // tokenizer.json, or a directory with one, to copy
  int32_t eos_id = -1;         // what ends a document; -1 where the tokenizer has none
  OrderedJson document;        // training.json
  std::string model_card;      // README.md
  std::string curve;           // curve.svg, which the card shows
};

// config.json, model.safetensors, tokenizer files, training.json, README.md and curve.svg, whole or not at
// all.
void WriteTrainedModel(const Trainer& trainer, const TrainedOutput& output);

// At most `points` equally long stretches of the run: {"step": its last, "loss": mean over it}.
OrderedJson ThinLossCurve(const std::vector<double>& losses, size_t points);

// README.md: what the model is, what it was trained on and how, the loss curve, and the command.
struct TrainingCardFacts {
  ModelConfig config;
  int64_t parameters = 0;
  OrderedJson document;  // training.json
  std::string command;
};
std::string MakeTrainingCard(const TrainingCardFacts& facts);

}  // namespace ghost
