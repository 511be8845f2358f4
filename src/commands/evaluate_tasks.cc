#include "commands/evaluate_tasks.h"

#include <cmath>

#include "base/error.h"
#include "base/timer.h"

namespace ghost {
namespace {

constexpr int64_t kDefaultMaxLength = 2048;  // for every family, as in the paper

void CheckRange(const char* flag, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorKind::kUsage, std::string("bad value of --") + flag,
              {.expected = std::to_string(static_cast<int64_t>(low)) + " to " +
                           std::to_string(static_cast<int64_t>(high)),
               .actual = std::to_string(value)});
}

OrderedJson OrNull(double value) { return std::isnan(value) ? OrderedJson(nullptr) : OrderedJson(value); }

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

OrderedJson DescribeSpeed(const RequestCounts& before, const RequestCounts& after, int64_t tokens_run,
                          double seconds) {
  const int64_t requests = after.requests - before.requests;
  const int64_t input = after.input_tokens - before.input_tokens;
  return {{"requests", requests},
          {"input_tokens", input},  // of all requests, each from its first token
          {"scored_tokens", after.scored_tokens - before.scored_tokens},
          {"tokens_run", tokens_run},  // through the model: less where requests share beginnings
          {"seconds", seconds},
          {"requests_per_second", static_cast<double>(requests) / seconds},
          {"tokens_per_second", static_cast<double>(input) / seconds}};
}

Tokenizer LoadMatchingTokenizer(const EvalOptions& options, const LoadedModel& loaded) {
  Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
  return tokenizer;
}

OrderedJson Describe(const Task& task, const TaskResult& result, const std::string& file, int shots) {
  OrderedJson out = {{"task", task.name}, {"version", task.version}, {"num_fewshot", shots}};
  for (const Metric& metric : result.metrics) {
    out[metric.name] = OrNull(metric.estimate.value);
    out[metric.name + "_stderr"] =
        metric.estimate.standard_error ? OrderedJson(*metric.estimate.standard_error) : OrderedJson(nullptr);
  }
  out["file"] = file;
  out["documents"] = result.documents;
  out["documents_in_file"] = result.documents_in_file;
  if (result.documents_in_file != task.num_documents) {
    out["warning"] = "the published split has " + std::to_string(task.num_documents) +
                     " documents, this file " + std::to_string(result.documents_in_file);
  }
  out.update(result.details);
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
                             .token_limit = tokenizer_.vocab_size()}),
      model_(runner_, tokenizer_,
             MakeRequestRules(tokenizer_, options.max_length > 0 ? options.max_length : kDefaultMaxLength,
                              BosRuleFromName(options.bos), options.prefix_token)) {}

TaskRecord TaskRunner::Run(const Task& task) {
  const RequestCounts before = model_.counts();
  const int64_t run_before = runner_.tokens_run();
  const std::string file = FindTaskFile(task, options_.data);
  const TaskOptions task_options = ToTaskOptions(options_, task);
  const Timer timer;
  TaskResult result = task.run(model_, file, task_options);
  const double seconds = timer.Seconds();
  TaskRecord record{Describe(task, result, file, task_options.shots), std::move(result.samples)};
  record.described["max_length"] = model_.rules().max_length;
  record.described["bos"] = options_.bos;
  record.described["prefix_token"] = model_.rules().prefix_token;
  record.described["sharing"] = !options_.no_sharing;
  record.described["batch"] = runner_.batch();
  record.described["documents_per_second"] = static_cast<double>(result.documents) / seconds;
  record.described.update(DescribeSpeed(before, model_.counts(), runner_.tokens_run() - run_before, seconds));
  return record;
}

}  // namespace ghost
