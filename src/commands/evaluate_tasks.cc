#include "commands/evaluate_tasks.h"

#include <cmath>

#include "base/error.h"
#include "base/timer.h"
#include "commands/check_range.h"
#include "commands/state_dtype.h"

namespace ghost {
namespace {

constexpr int64_t kDefaultMaxLength = 2048;  // for every family, as in the paper

TaskOptions ToTaskOptions(const EvalOptions& options, const Task& task) {
  TaskOptions out;
  out.limit = options.limit;
  out.shots = task.max_shots > 0 ? options.shots : 0;
  out.log_samples = !options.log_samples.empty();
  out.why_not_run = options.allow_code_execution ? "" : "--allow-code-execution was not given";
  out.code_seconds = options.code_timeout;
  out.programs = options.programs;
  out.force = options.force;
  return out;
}

RequestCounts Difference(const RequestCounts& after, const RequestCounts& before) {
  return {.requests = after.requests - before.requests,
          .input_tokens = after.input_tokens - before.input_tokens,
          .scored_tokens = after.scored_tokens - before.scored_tokens};
}

Tokenizer LoadMatchingTokenizer(const EvalOptions& options, const LoadedModel& loaded) {
  Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
  return tokenizer;
}

HarnessOutcome OutcomeOf(const Task& task, const TaskResult& result) {
  HarnessOutcome out{.task = std::string(task.name), .version = task.version};
  for (const Metric& metric : result.metrics) {
    const double value = metric.estimate.value;
    out.metrics.push_back({metric.name, std::isnan(value) ? std::nullopt : std::optional(value),
                           metric.estimate.standard_error});
  }
  out.documents = result.documents;
  out.documents_in_file = result.documents_in_file;
  out.published_documents = task.num_documents;
  out.details = result.details;
  out.execution = result.execution;
  return out;
}

}  // namespace

void CheckTaskOptions(const EvalOptions& options, const Task& task) {
  CheckRange("limit", static_cast<double>(options.limit), 0, 1e9);
  CheckRange("max-length", static_cast<double>(options.max_length), 0, 1 << 20);
  CheckRange("shots", options.shots, 0, task.max_shots > 0 ? task.max_shots : 5);
  CheckRange("batch", options.batch, 0, 4096);
  CheckRange("code-timeout", options.code_timeout, 0.01, 3600);
  BosRuleFromName(options.bos);
  if (!options.input.empty())
    throw Error(ErrorKind::kUsage, "task " + std::string(task.name) + " takes no --input",
                {.hint = "give --data"});
  FindTaskFile(task, options.data);
}

TaskRunner::TaskRunner(const EvalOptions& options, const LoadedModel& loaded)
    : options_(options),
      tokenizer_(LoadMatchingTokenizer(options, loaded)),
      runner_(loaded.model, {.share_prefixes = !options.no_sharing,
                             .batch = options.batch,
                             .token_limit = tokenizer_.vocab_size(),
                             .state_type = ParseStateType(options.state_dtype)}),
      model_(runner_, tokenizer_,
             MakeRequestRules(tokenizer_, options.max_length > 0 ? options.max_length : kDefaultMaxLength,
                              BosRuleFromName(options.bos), options.prefix_token)) {}

TaskRecord TaskRunner::Run(const Task& task) {
  const RequestCounts before = model_.counts();
  const int64_t run_before = model_.tokens_run();
  const std::string file = FindTaskFile(task, options_.data);
  const TaskOptions task_options = ToTaskOptions(options_, task);
  const Timer timer;
  TaskResult result = task.run(model_, file, task_options);
  const double seconds = timer.Seconds();
  HarnessOutcome out = OutcomeOf(task, result);
  out.shots = task_options.shots;
  out.file = file;
  out.max_length = model_.rules().max_length;
  out.bos = options_.bos;
  out.prefix_token = model_.rules().prefix_token;
  out.sharing = !options_.no_sharing;
  out.batch = runner_.batch();
  out.counts = Difference(model_.counts(), before);
  out.tokens_run = model_.tokens_run() - run_before;
  out.seconds = seconds;
  return {std::move(out), std::move(result.samples)};
}

}  // namespace ghost
