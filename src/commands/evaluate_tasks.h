// Runs the harness's tasks on a loaded model and collects what they give.
#pragma once

#include <vector>

#include "commands/eval_result.h"
#include "commands/model_source.h"
#include "eval/language_model.h"
#include "eval/runner_model.h"
#include "eval/task.h"

namespace ghost {

// What one task gave, and its log with --log-samples.
struct TaskRecord {
  HarnessOutcome outcome;
  std::vector<OrderedJson> samples;
};

// Checks what can be checked before a model is loaded: values of flags, and that the documents exist.
void CheckTaskOptions(const EvalOptions& options, const Task& task);

// Runs one task after the other on one model; `loaded` must outlive it.
class TaskRunner {
 public:
  TaskRunner(const EvalOptions& options, const LoadedModel& loaded);
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;
  TaskRecord Run(const Task& task);

 private:
  EvalOptions options_;
  Tokenizer tokenizer_;
  RunnerModel runner_;
  LanguageModel model_;
};

}  // namespace ghost
