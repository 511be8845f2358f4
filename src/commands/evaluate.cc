#include "commands/evaluate.h"

#include <numbers>
#include <optional>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "checkpoint/ragged.h"
#include "commands/calibration_source.h"
#include "commands/eval_result.h"
#include "commands/evaluate_tasks.h"
#include "commands/model_source.h"
#include "commands/recall.h"
#include "commands/token_input.h"
#include "eval/perplexity.h"
#include "model/cost.h"
#include "text/corpus/text_file.h"

namespace ghost {
namespace {

constexpr int64_t kDefaultLength = 2048;         // as in the paper and in the pruning literature
constexpr int64_t kDefaultLlamaCppLength = 512;  // llama.cpp's own default context

// The token stream to score, and how it came about.
struct Stream {
  std::vector<int32_t> ids;
  int64_t text_bytes = 0;  // 0 when the ids were given
  int64_t length = 0;      // the window length the input itself asks for, or 0
  int32_t bos_id = -1;     // set when the tokenizer starts every text with it
};

Stream LoadStream(const EvalOptions& options, const LoadedModel& loaded) {
  Stream stream;
  if (options.data.empty() == options.input.empty()) {
    throw Error(ErrorKind::kUsage, "give either --data FILE or --input ids.safetensors");
  }
  if (!options.input.empty()) {
    TokenMatrix matrix = LoadTokenMatrix(options.input, loaded.model.config().vocab_size);
    stream.length = matrix.cols;
    stream.ids = std::move(matrix.ids);
    return stream;
  }
  const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
  const std::string text = JoinText(LoadTextFile(FindTaskFile(kWikitextTask, options.data)), options.join);
  stream.ids = tokenizer.Encode(text);
  stream.text_bytes = static_cast<int64_t>(text.size());
  const std::vector<int32_t> special = tokenizer.Encode("", /*add_special=*/true);
  if (!special.empty() && special.front() == tokenizer.bos_id()) stream.bos_id = special.front();
  return stream;
}

PerplexityOutcome EvaluatePerplexity(const EvalOptions& options, const LoadedModel& loaded) {
  PerplexityOptions perplexity;
  perplexity.variant = PerplexityVariantFromName(options.variant);
  const Stream stream = LoadStream(options, loaded);
  const bool llama = perplexity.variant == PerplexityVariant::kLlamaCpp;
  perplexity.length = options.max_length > 0 ? options.max_length
                      : stream.length > 0    ? stream.length
                      : llama                ? kDefaultLlamaCppLength
                                             : kDefaultLength;
  perplexity.stride = options.stride;
  perplexity.bos_id = stream.bos_id;
  perplexity.max_windows = options.limit;
  Progress progress("perplexity", "windows");
  const PerplexityResult result =
      Perplexity(loaded.model, stream.ids, perplexity,
                 [&](int64_t done, int64_t total) { progress.Update(done, total); });
  // As if the few tokens that no window scores were like the others.
  const double bits_per_token = result.nll / std::numbers::ln2;
  const bool bytes_known = stream.text_bytes > 0;
  const double tokens_per_byte =
      bytes_known ? static_cast<double>(stream.ids.size()) / static_cast<double>(stream.text_bytes) : 0;
  const auto per_byte = [&](double per_token) {
    return bytes_known ? std::optional(per_token * tokens_per_byte) : std::nullopt;
  };
  PerplexityOutcome r{.variant = std::string(NameOf(perplexity.variant))};
  if (options.input.empty()) r.join = options.join;
  const double delta_error = result.perplexity * result.standard_error;  // delta method
  r.metrics = {
      {"perplexity", result.perplexity, delta_error},
      {"nll_per_token", result.nll, result.standard_error},
      {"bits_per_byte", per_byte(bits_per_token), per_byte(result.standard_error / std::numbers::ln2)}};
  r.max_length = perplexity.length;
  r.windows = result.windows;
  r.tokens_total = static_cast<int64_t>(stream.ids.size());
  r.tokens_scored = result.scored;
  r.text_bytes = stream.text_bytes;
  return r;
}

// Tasks besides the harness's: a name and a function; new ones are one line here.
struct OwnTask {
  std::string_view name;
  void (*run)(const EvalOptions&, const LoadedModel&, std::vector<TaskOutcome>& results);
};
template <auto Measure>
void RunOwnTask(const EvalOptions& options, const LoadedModel& loaded, std::vector<TaskOutcome>& results) {
  results.emplace_back(Measure(options, loaded));
}
constexpr OwnTask kOwnTasks[] = {{"perplexity", RunOwnTask<EvaluatePerplexity>},
                                 {"recall", RunOwnTask<EvaluateRecall>}};

const OwnTask* FindOwnTask(std::string_view name) {
  for (const OwnTask& task : kOwnTasks) {
    if (task.name == name) return &task;
  }
  return nullptr;
}

std::vector<std::string> TaskNames(const EvalOptions& options) {
  std::vector<std::string> names;
  std::istringstream list(options.task);
  for (std::string name; std::getline(list, name, ',');) {
    const Task* task = FindTask(name);
    if (task != nullptr) CheckTaskOptions(options, *task);
    if (task == nullptr && FindOwnTask(name) == nullptr) {
      std::string known;
      for (const OwnTask& own : kOwnTasks) known += std::string(own.name) + ", ";
      for (const Task* other : AllTasks())
        known += (other == AllTasks()[0] ? "" : ", ") + std::string(other->name);
      throw Error(ErrorKind::kUsage, "unknown task", {.expected = known, .actual = name});
    }
    names.push_back(name);
  }
  if (names.empty()) throw Error(ErrorKind::kUsage, "no task given");
  return names;
}

// What pruning left beside the weights, so that a result says which model it is of.
OrderedJson LoadPruningRecord(const Checkpoint& checkpoint) {
  const std::string file = checkpoint.path + "/" + kGhostFile;
  if (!FileExists(file)) return nullptr;
  const Json ghost = LoadJson(file);
  return ghost.is_object() && ghost.contains("pruning") ? OrderedJson(ghost["pruning"])
                                                        : OrderedJson(nullptr);
}

void WriteSamples(const std::string& task, const std::vector<OrderedJson>& samples, AtomicFile& file) {
  for (const OrderedJson& sample : samples) {
    OrderedJson line = {{"task", task}};
    line.update(sample);
    file.Write(line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
  }
}

}  // namespace

EvalResult Evaluate(const EvalOptions& options) {
  const Timer timer;
  const std::vector<std::string> names = TaskNames(options);
  // Opened first: a missing folder should not be noticed after hours.
  std::optional<AtomicFile> output, log;
  if (!options.output.empty()) output.emplace(options.output);
  if (!options.log_samples.empty()) log.emplace(options.log_samples);
  const LoadedModel loaded = LoadModel(options.model);
  EvalResult r{.options = options};
  r.run = {.schema = "ghost.eval/1", .model = IdentifyModel(loaded.checkpoint)};
  r.dtype = NameOf(loaded.model.weights().embedding.dtype());
  r.state_bytes_per_sequence = SsmStateBytes(loaded.model.config());
  r.pruning = LoadPruningRecord(loaded.checkpoint);
  std::optional<TaskRunner> runner;  // made when the first task asks for it
  for (const std::string& name : names) {
    if (const OwnTask* own = FindOwnTask(name)) {
      own->run(options, loaded, r.results);
      continue;
    }
    if (!runner) runner.emplace(options, loaded);
    TaskRecord record = runner->Run(*FindTask(name));
    r.results.emplace_back(std::move(record.outcome));
    if (log) WriteSamples(name, record.samples, *log);
  }
  FinishRun(timer, r.run);
  if (log) log->Commit();
  if (output) {
    output->Write(DumpDocument(ToJson(r)));
    output->Commit();
  }
  return r;
}

}  // namespace ghost
