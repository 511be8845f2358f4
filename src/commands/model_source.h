// From a MODEL argument to a loaded model and its tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "commands/options.h"
#include "model/model.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {

// Expands the word `tiny` to the directory of the model that ships with the project; other arguments stay as
// they are.
std::string ResolveModelPath(const std::string& argument);

std::optional<NormGrouping> ParseNormGroups(const std::string& value);  // auto gives nullopt

struct LoadedModel {
  Checkpoint checkpoint;
  Model model;
};
LoadedModel LoadModel(const ModelOptions& options);

// Whether a checkpoint has a tokenizer of its own.
bool HasTokenizer(const Checkpoint& checkpoint);

// The tokenizer of a checkpoint: `override_path` if given, else tokenizer.json beside the weights, else the
// vocabulary inside a GGUF file. Without any, Error(kNotFound) names the tokenizer that models of this
// vocabulary size use.
Tokenizer LoadTokenizerFor(const Checkpoint& checkpoint, const std::string& override_path);

// A tokenizer that can produce ids the model has no row for belongs to another model: Error(kCorrupt).
void CheckVocabulary(const Tokenizer& tokenizer, const ModelConfig& config, const std::string& source);

}  // namespace ghost
