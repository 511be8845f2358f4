#include "commands/calibration_source.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/error.h"
#include "commands/token_input.h"
#include "eval/task.h"
#include "text/corpus/calibration.h"
#include "text/corpus/recall.h"
#include "text/corpus/rows.h"
#include "text/corpus/text_file.h"

namespace ghost {
namespace {

std::string HashOf(const std::vector<std::vector<int32_t>>& samples) {
  uint64_t hash = 0;
  for (const auto& sample : samples)
    hash = XXH3_64bits_withSeed(sample.data(), sample.size() * sizeof(int32_t), hash);
  return fmt::format("xxh3:{:016x}", hash);
}

constexpr std::string_view kTaskPrefix = "task:", kRecallTask = "task:recall";
constexpr uint32_t kRecallDocuments = 1000;  // 0.4 M tokens

// A text to cut windows from, and how it came about.
struct LoadedText {
  std::string text;
  OrderedJson described;
};

// The documents of an evaluation task, each with its right continuation, two newlines between them. Those of
// a split that is not evaluated on if there is one; otherwise the result says that it is in-sample.
LoadedText LoadTaskText(const CalibrationOptions& options) {
  const std::string name = options.calibration.substr(kTaskPrefix.size());
  const Task* task = FindTask(name);
  if (task == nullptr || task->examples == nullptr) {
    std::string known(kRecallTask);
    for (const Task* other : AllTasks()) {
      if (other->examples != nullptr) known += ", task:" + std::string(other->name);
    }
    throw Error(ErrorKind::kUsage, "no such task to calibrate on",
                {.expected = known, .actual = options.calibration});
  }
  const std::string file = FindCalibrationFile(*task, options.data);
  LoadedText out;
  const std::vector<std::string> examples = task->examples(file);
  for (const std::string& example : examples) out.text += (out.text.empty() ? "" : "\n\n") + example;
  out.described = {{"source", options.calibration},
                   {"file", file},
                   {"documents", examples.size()},
                   {"in_sample", file.ends_with("/" + std::string(task->file)) || file == task->file}};
  return out;
}

// Documents of the split to learn from, so that held-out recall stays held out.
LoadedText MakeRecallText(const CalibrationOptions& options) {
  const auto seed = static_cast<uint32_t>(options.seed % (uint64_t{kMaxRecallSeed} + 1));
  LoadedText out;
  for (uint32_t i = 0; i < kRecallDocuments; ++i) {
    const RecallDocument document = MakeRecallDocument(RecallSeed(RecallSplit::kTrain, seed, i));
    out.text += (out.text.empty() ? "" : "\n\n") + document.text;
  }
  out.described = {{"source", options.calibration}, {"documents", kRecallDocuments}, {"in_sample", false}};
  return out;
}

LoadedText LoadText(const CalibrationOptions& options) {
  if (options.calibration == kRecallTask) {
    if (!options.data.empty())
      throw Error(ErrorKind::kUsage, "task:recall makes its documents, --data has no use");
    return MakeRecallText(options);
  }
  if (options.calibration.starts_with(kTaskPrefix)) return LoadTaskText(options);
  if (!options.data.empty()) throw Error(ErrorKind::kUsage, "--data goes with --calibration task:NAME only");
  return {JoinText(LoadTextFile(options.calibration), options.join),
          {{"source", options.calibration}, {"join", options.join}}};
}

}  // namespace

std::string JoinText(const std::string& text, const std::string& join) {
  if (join == "rows") return JoinRows(text);
  if (join == "file") return text;
  throw Error(ErrorKind::kUsage, "bad value of --join", {.expected = "rows or file", .actual = join});
}

CalibrationData LoadCalibration(const CalibrationOptions& options, const LoadedModel& loaded) {
  CalibrationData data;
  if (options.calibration.empty() && options.input.empty()) return data;
  if (!options.calibration.empty() && !options.input.empty()) {
    throw Error(ErrorKind::kUsage, "give either --calibration FILE or --input ids.safetensors, not both");
  }
  if (!options.input.empty()) {
    const TokenMatrix ids = LoadTokenMatrix(options.input, loaded.model.config().vocab_size);
    for (int64_t row = 0; row < ids.rows; ++row)
      data.samples.emplace_back(ids.Row(row), ids.Row(row) + ids.cols);
    data.described = {{"source", options.input}, {"samples", ids.rows}, {"length", ids.cols}};
  } else {
    const WindowSampler sampler = WindowSamplerFromName(options.sampler);
    const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
    CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
    const LoadedText text = LoadText(options);
    data.samples =
        SampleWindows(tokenizer.Encode(text.text), sampler, options.samples, options.length, options.seed);
    data.described = text.described;
    data.described.update(OrderedJson{{"sampler", NameOf(sampler)},
                                      {"samples", options.samples},
                                      {"length", options.length},
                                      {"seed", options.seed}});
  }
  data.described["content_hash"] = HashOf(data.samples);
  return data;
}

}  // namespace ghost
