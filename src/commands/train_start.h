// What training starts from: a shape and a rule for its initial weights, or a model to continue from.
#pragma once

#include <optional>
#include <string>

#include "commands/model_source.h"
#include "commands/train.h"
#include "train/trainer.h"

namespace ghost {

struct TrainStart {
  ModelConfig config;  // in the Hugging Face layout, which is written
  Initialization init = Initialization::kMamba2;
  std::optional<LoadedModel> model;  // to continue from
  std::string name;                  // of all that, for the record
};

// From --config and --init. Error(kUnsupported) for GGUF files and for models other than Mamba2 of one state
// size.
TrainStart LoadTrainStart(const TrainOptions& options, const Tokenizer& tokenizer);

}  // namespace ghost
