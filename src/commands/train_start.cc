#include "commands/train_start.h"

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "checkpoint/family.h"
#include "train/shapes.h"

namespace ghost {
namespace {

constexpr int kVocabMultiple = 16;  // a named shape's vocabulary is the tokenizer's, rounded up to this

// Models that the result could not be written as, or that have no gradients of every weight.
void CheckTrainable(const ModelConfig& config, const std::string& file) {
  const auto refuse = [&](const std::string& expected, const std::string& actual) {
    throw Error(ErrorKind::kUnsupported, "this model cannot be trained",
                {.file = file, .expected = expected, .actual = actual});
  };
  if (!FamilyOf(config).trainable) refuse("mamba2", config.family);
  if (config.layout == Layout::kGguf)
    refuse("a checkpoint directory (ghost convert makes one)", "a GGUF file");
  if (UniformStateSize(config) < 1) refuse("one state size for all layers and groups", "different ones");
}

ModelConfig ConfigOf(const TrainOptions& o, const Tokenizer& tokenizer) {
  if (IsTrainingShape(o.config)) {
    const int size = tokenizer.vocab_size();
    return TrainingShape(o.config, (size + kVocabMultiple - 1) / kVocabMultiple * kVocabMultiple);
  }
  if (!FileExists(o.config)) {
    std::string known;
    for (const std::string& name : TrainingShapeNames()) known += name + ", ";
    throw Error(ErrorKind::kNotFound, "no such shape and no such file",
                {.file = o.config, .expected = known + "or a config.json"});
  }
  const ModelConfig config = ParseConfig(LoadJson(o.config), o.config);
  CheckTrainable(config, o.config);
  CheckVocabulary(tokenizer, config, o.config);
  return config;
}

}  // namespace

TrainStart LoadTrainStart(const TrainOptions& o, const Tokenizer& tokenizer) {
  TrainStart start;
  start.name = o.init;
  if (o.init == "mamba2" || o.init == "mimetic") {
    start.config = ConfigOf(o, tokenizer);
    if (o.init == "mimetic") start.init = Initialization::kMimetic;
  } else {
    if (o.config != TrainOptions{}.config) {
      throw Error(ErrorKind::kUsage, "a model to continue from has its own configuration",
                  {.expected = "either --config or a model as --init", .actual = "both"});
    }
    start.model = LoadModel(ModelOptions{.model = o.init});
    start.config = start.model->model.config();
    CheckTrainable(start.config, o.init);
    CheckVocabulary(tokenizer, start.config, o.init);
    start.name = FileName(o.init) + ", " + ContentHash(start.model->checkpoint.tensors);
  }
  start.config = Arranged(std::move(start.config), Layout::kHuggingFace);  // what is written
  return start;
}

}  // namespace ghost
