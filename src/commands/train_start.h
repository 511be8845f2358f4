// What training starts from: a shape and a rule for its initial weights, or a model to continue from; and the
// model it imitates, if any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "commands/model_source.h"
#include "commands/train.h"
#include "train/trainer.h"

namespace ghost {

struct TrainStart {
  ModelConfig config;  // in the Hugging Face layout, which is written
  Initialization init = Initialization::kMamba2;
  std::optional<LoadedModel> model;  // to continue from
  std::string name;                  // of all that, for the record
  OrderedJson config_file;           // config.json of what is written
  OrderedJson ghost;                 // ghost.json of a pruned model; null: none
  bool masked = false;               // some of its weights are zero and are to stay so
};

struct TrainTeacher {
  LoadedModel model;
  std::string name;  // for the record
};

// From --config and --init. Error(kUnsupported) for GGUF files and for models other than Mamba2.
TrainStart LoadTrainStart(const TrainOptions& options, const Tokenizer& tokenizer);

// From --teacher; nothing without it. Error(kUsage) if its vocabulary is not that of `student`, or if the
// tokenizer beside it cuts the text of `sample` into other tokens.
std::optional<TrainTeacher> LoadTrainTeacher(const TrainOptions& options, const Tokenizer& tokenizer,
                                             const ModelConfig& student, std::span<const int32_t> sample);

}  // namespace ghost
