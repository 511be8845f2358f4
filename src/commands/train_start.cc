#include "commands/train_start.h"

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/family.h"
#include "prune/write/storage.h"
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

// For the record: a file may be replaced by another of the same name.
std::string NameAndHash(const std::string& path, const LoadedModel& model) {
  return FileName(path) + ", " + ContentHash(model.checkpoint.tensors);
}

// As its own file says it where the layout stays, with what a new one would not have.
OrderedJson ConfigFileOf(const Checkpoint& source, const ModelConfig& written) {
  if (source.config.layout != Layout::kHuggingFace) return MakeHuggingFaceConfig(written);
  return OrderedJson::parse(ReadFile(source.path + "/" + source.files().config));
}

void LoadStartModel(const TrainOptions& o, const Tokenizer& tokenizer, TrainStart& start) {
  if (o.config != TrainOptions{}.config) {
    throw Error(ErrorKind::kUsage, "a model to continue from has its own configuration",
                {.expected = "either --config or a model as --init", .actual = "both"});
  }
  start.model = LoadModel(ModelOptions{.model = o.init});
  const Checkpoint& source = start.model->checkpoint;
  start.config = start.model->model.config();
  CheckTrainable(start.config, o.init);
  CheckVocabulary(tokenizer, start.config, o.init);
  start.name = NameAndHash(o.init, *start.model);
  const std::string ghost = ReadGhostDocument(source);
  if (ghost.empty()) return;
  start.ghost = OrderedJson::parse(ghost);
  start.masked = start.ghost.value("storage", "") == NameOf(Storage::kMasked);
}

}  // namespace

TrainStart LoadTrainStart(const TrainOptions& o, const Tokenizer& tokenizer) {
  TrainStart start;
  start.name = o.init;
  if (o.init == "mamba2" || o.init == "mimetic") {
    start.config = ConfigOf(o, tokenizer);
    if (o.init == "mimetic") start.init = Initialization::kMimetic;
  } else {
    LoadStartModel(o, tokenizer, start);
  }
  start.config = Arranged(std::move(start.config), Layout::kHuggingFace);  // what is written
  start.config_file =
      start.model ? ConfigFileOf(start.model->checkpoint, start.config) : MakeHuggingFaceConfig(start.config);
  return start;
}

std::optional<TrainTeacher> LoadTrainTeacher(const TrainOptions& o, const Tokenizer& tokenizer,
                                             const ModelConfig& student, std::span<const int32_t> sample) {
  if (o.teacher.empty()) return std::nullopt;
  TrainTeacher teacher{LoadModel(ModelOptions{.model = o.teacher}), ""};
  const auto refuse = [&](const std::string& expected, const std::string& actual) {
    throw Error(
        ErrorKind::kUsage, "teacher and model have different vocabularies",
        {.file = o.teacher,
         .expected = expected,
         .actual = actual,
         .hint = "a teacher must have the model's own vocabulary, as the model it was pruned from has"});
  };
  const int size = teacher.model.model.config().vocab_size;
  if (size != student.vocab_size)
    refuse(std::to_string(student.vocab_size) + " token ids", std::to_string(size));
  const Checkpoint& source = teacher.model.checkpoint;
  if (HasTokenizer(source)) {
    const std::string text = tokenizer.Decode(sample);
    if (LoadTokenizerFor(source, "").Encode(text) != tokenizer.Encode(text))
      refuse("the tokens that --tokenizer makes of the text", "others by the teacher's own tokenizer");
  }
  teacher.name = NameAndHash(o.teacher, teacher.model);
  return teacher;
}

}  // namespace ghost
