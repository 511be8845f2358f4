#include "commands/evaluate.h"

#include <optional>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/team.h"
#include "checkpoint/ragged.h"
#include "commands/eval_result.h"
#include "commands/evaluate_tasks.h"
#include "commands/model_source.h"
#include "commands/perplexity.h"
#include "commands/recall.h"
#include "commands/split_list.h"
#include "commands/state_dtype.h"
#include "model/cost.h"

namespace ghost {
namespace {

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
  for (const std::string& name : SplitList(options.task)) {
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
  ParseStateType(options.state_dtype);  // before hours of loading and running
  // Opened first: a missing folder should not be noticed after hours.
  std::optional<AtomicFile> output, log;
  const bool writes = CurrentTeam().leads();
  if (writes && !options.output.empty()) output.emplace(options.output);
  if (writes && !options.log_samples.empty()) log.emplace(options.log_samples);
  const LoadedModel loaded = LoadModel(options.model);
  EvalResult r{.options = options};
  r.run = {.schema = "ghost.eval/1", .model = IdentifyModel(loaded.checkpoint)};
  RequireSame("the model", GhostVersion() + (" " + r.run.model->content_hash));
  r.dtype = NameOf(loaded.model.weights().embedding.dtype());
  r.state_bytes_per_sequence = SsmStateBytes(loaded.model.config(), ParseStateType(options.state_dtype));
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
