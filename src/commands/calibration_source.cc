#include "commands/calibration_source.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "commands/number_list.h"
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
LoadedText LoadTaskText(const std::string& source, const CalibrationOptions& options) {
  const std::string name = source.substr(kTaskPrefix.size());
  const Task* task = FindTask(name);
  if (task == nullptr || task->examples == nullptr) {
    std::string known(kRecallTask);
    for (const Task* other : AllTasks()) {
      if (other->examples != nullptr) known += ", task:" + std::string(other->name);
    }
    throw Error(ErrorKind::kUsage, "no such task to calibrate on", {.expected = known, .actual = source});
  }
  const std::string file = FindCalibrationFile(*task, options.data);
  LoadedText out;
  const std::vector<std::string> examples = task->examples(file);
  for (const std::string& example : examples) out.text += (out.text.empty() ? "" : "\n\n") + example;
  out.described = {{"source", source},
                   {"file", file},
                   {"documents", examples.size()},
                   {"in_sample", file.ends_with("/" + std::string(task->file)) || file == task->file}};
  return out;
}

// Documents of the split to learn from, so that held-out recall stays held out.
LoadedText MakeRecallText(uint64_t base_seed) {
  const auto seed = static_cast<uint32_t>(base_seed % (uint64_t{kMaxRecallSeed} + 1));
  LoadedText out;
  for (uint32_t i = 0; i < kRecallDocuments; ++i) {
    const RecallDocument document = MakeRecallDocument(RecallSeed(RecallSplit::kTrain, seed, i));
    out.text += (out.text.empty() ? "" : "\n\n") + document.text;
  }
  out.described = {{"source", kRecallTask}, {"documents", kRecallDocuments}, {"in_sample", false}};
  return out;
}

bool IsNamedTask(const std::string& source) {
  return source.starts_with(kTaskPrefix) && source != kRecallTask;
}

LoadedText LoadText(const std::string& source, const CalibrationOptions& options) {
  if (source == kRecallTask) return MakeRecallText(options.seed);
  if (IsNamedTask(source)) return LoadTaskText(source, options);
  return {JoinText(LoadTextFile(source), options.join), {{"source", source}, {"join", options.join}}};
}

// One positive number per source.
std::vector<double> ParseWeights(const std::string& text, size_t sources) {
  if (text.empty()) return std::vector<double>(sources, 1.0);
  const auto weights = ParseNumbers<double>(text);
  const auto good = [](double weight) { return weight > 0.0 && std::isfinite(weight); };
  if (weights && weights->size() == sources && std::ranges::all_of(*weights, good)) return *weights;
  throw Error(ErrorKind::kUsage, "bad value of --weights",
              {.expected = fmt::format("{} positive numbers, such as 2,1", sources), .actual = text});
}

// How many of `samples` windows each source gives: whole shares first, then one each in the order of the
// largest remainders, the first source first among equals.
std::vector<int64_t> ShareWindows(int64_t samples, const std::vector<double>& weights) {
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  std::vector<int64_t> windows;
  std::vector<std::pair<double, size_t>> remainders;
  int64_t left = samples;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double share = static_cast<double>(samples) * weights[i] / sum;
    windows.push_back(static_cast<int64_t>(share));
    remainders.emplace_back(static_cast<double>(windows.back()) - share, i);
    left -= windows.back();
  }
  std::ranges::sort(remainders);
  for (size_t i = 0; left > 0; ++i, --left) ++windows[remainders[i % remainders.size()].second];
  return windows;
}

void CheckSources(const CalibrationOptions& options) {
  if (!options.calibration.empty() && !options.input.empty())
    throw Error(ErrorKind::kUsage, "give either --calibration FILE or --input ids.safetensors, not both");
  if (options.calibration.empty() && !options.weights.empty())
    throw Error(ErrorKind::kUsage, "--weights goes with --calibration");
  if (!options.data.empty() && std::ranges::none_of(options.calibration, IsNamedTask))
    throw Error(ErrorKind::kUsage,
                fmt::format("--{} goes with --calibration task:NAME only, and not with task:recall",
                            options.data_flag));
}

// Windows of all sources, one source behind the other.
CalibrationData SampleSources(const CalibrationOptions& options, const LoadedModel& loaded) {
  const WindowSampler sampler = WindowSamplerFromName(options.sampler);
  const std::vector<double> weights = ParseWeights(options.weights, options.calibration.size());
  const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
  const std::vector<int64_t> windows = ShareWindows(options.samples, weights);
  CalibrationData data;
  OrderedJson sources = OrderedJson::array();
  for (size_t i = 0; i < windows.size(); ++i) {
    LoadedText text = LoadText(options.calibration[i], options);
    for (auto& sample :
         SampleWindows(tokenizer.Encode(text.text), sampler, windows[i], options.length, options.seed))
      data.samples.push_back(std::move(sample));
    text.described["windows"] = windows[i];
    sources.push_back(std::move(text.described));
  }
  if (sources.size() == 1) {
    data.described = sources[0];
    data.described.erase("windows");
  } else {
    data.described = {{"sources", sources}};
  }
  data.described.update(OrderedJson{{"sampler", NameOf(sampler)},
                                    {"samples", options.samples},
                                    {"length", options.length},
                                    {"seed", options.seed}});
  return data;
}

}  // namespace

std::string JoinText(const std::string& text, const std::string& join) {
  if (join == "rows") return JoinRows(text);
  if (join == "file") return text;
  throw Error(ErrorKind::kUsage, "bad value of --join", {.expected = "rows or file", .actual = join});
}

CalibrationData LoadCalibration(const CalibrationOptions& options, const LoadedModel& loaded) {
  CalibrationData data;
  CheckSources(options);
  if (options.calibration.empty() && options.input.empty()) return data;
  if (options.input.empty()) {
    data = SampleSources(options, loaded);
  } else {
    const TokenMatrix ids = LoadTokenMatrix(options.input, loaded.model.config().vocab_size);
    for (int64_t row = 0; row < ids.rows; ++row)
      data.samples.emplace_back(ids.Row(row), ids.Row(row) + ids.cols);
    data.described = {{"source", options.input}, {"samples", ids.rows}, {"length", ids.cols}};
  }
  data.described["content_hash"] = HashOf(data.samples);
  return data;
}

}  // namespace ghost
