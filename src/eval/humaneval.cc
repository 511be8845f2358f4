// humaneval: does a function that the model completes pass its tests? Programs run only when asked for, and
// only in a sandbox.
#include "eval/humaneval.h"

#include <algorithm>
#include <limits>

#include "base/atomic_directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/team.h"
#include "base/threads.h"
#include "eval/json_lines.h"
#include "eval/sandbox.h"
#include "eval/task.h"

namespace ghost {
namespace {

constexpr int64_t kMaxNewTokens = 1024;
constexpr char kDefaultFolder[] = "humaneval-programs";

GenerateRules Rules() {
  return {kMaxNewTokens, {"\nclass", "\ndef", "\n#", "\nif", "\nprint", "<|endoftext|>"}};
}

std::string_view NameOf(SandboxOutcome outcome) {
  return outcome == SandboxOutcome::kPassed   ? "passed"
         : outcome == SandboxOutcome::kFailed ? "failed"
                                              : "timed out";
}

// HumanEval/7 -> HumanEval_7.py; ids come from a file and must not name other folders.
std::string FileName(std::string id) {
  std::replace_if(
      id.begin(), id.end(), [](unsigned char c) { return !std::isalnum(c) && c != '-'; }, '_');
  return id + ".py";
}

void WritePrograms(const std::string& folder, bool force, const std::vector<HumanEvalProblem>& problems,
                   const std::vector<std::string>& programs) {
  AtomicDirectory directory(folder, force);
  for (size_t i = 0; i < problems.size(); ++i)
    WriteFileAtomically(directory.path() + "/" + FileName(problems[i].id), programs[i]);
  directory.Commit();
}

std::vector<SandboxOutcome> RunAll(const std::vector<std::string>& programs, double seconds) {
  SandboxLimits limits;
  limits.wall_seconds = seconds;
  std::vector<SandboxOutcome> outcomes(programs.size());
  Progress progress("humaneval", "programs");
  const auto at_once = static_cast<size_t>(NumThreads());
  for (size_t begin = 0; begin < programs.size(); begin += at_once) {
    const size_t count = std::min(at_once, programs.size() - begin);
    ParallelFor(static_cast<int64_t>(count), [&](int64_t i) {
      const size_t at = begin + static_cast<size_t>(i);
      outcomes[at] = RunPython(programs[at], limits);
    });
    progress.Update(static_cast<int64_t>(begin + count), static_cast<int64_t>(programs.size()));
  }
  return outcomes;
}

// Why programs are not run, or nothing.
std::string ReasonNotToRun(const TaskOptions& options) {
  return options.why_not_run.empty() ? WhyNoSandbox() : options.why_not_run;
}

TaskResult RunHumanEval(LanguageModel& model, const std::string& path, const TaskOptions& options) {
  // One process generates: prompts in one batch read the weights once, and programs should run once.
  if (!CurrentTeam().leads()) return {};
  std::vector<HumanEvalProblem> problems = LoadHumanEval(path);
  TaskResult result;
  result.documents_in_file = static_cast<int64_t>(problems.size());
  result.documents = Limited(result.documents_in_file, options.limit);
  problems.resize(static_cast<size_t>(result.documents));
  const std::string reason = ReasonNotToRun(options);
  std::string folder = options.programs;
  if (folder.empty() && !reason.empty()) folder = kDefaultFolder;
  if (!folder.empty()) CheckNewDirectory(folder, options.force);  // before the hours of generating

  std::vector<std::string> prompts, programs;
  for (const HumanEvalProblem& problem : problems) prompts.push_back(problem.prompt);
  const std::vector<std::string> completions = model.GenerateUntil(prompts, Rules(), "humaneval");
  for (size_t i = 0; i < problems.size(); ++i) programs.push_back(MakeProgram(problems[i], completions[i]));
  if (!folder.empty()) WritePrograms(folder, options.force, problems, programs);
  std::vector<SandboxOutcome> outcomes;
  if (reason.empty()) outcomes = RunAll(programs, options.code_seconds);

  std::vector<double> passed;
  for (const SandboxOutcome outcome : outcomes)
    passed.push_back(PassAtK(/*n=*/1, outcome == SandboxOutcome::kPassed ? 1 : 0, /*k=*/1));
  const Estimate unknown{std::numeric_limits<double>::quiet_NaN(), std::nullopt};
  result.metrics = {{"pass@1", reason.empty() ? Mean(passed) : unknown}};
  result.execution =
      CodeExecution{.why_not = reason,
                    .programs = folder,
                    .timed_out = std::count(outcomes.begin(), outcomes.end(), SandboxOutcome::kTimedOut)};
  for (size_t i = 0; options.log_samples && i < problems.size(); ++i) {
    result.samples.push_back({{"doc", i},
                              {"task_id", problems[i].id},
                              {"prompt", prompts[i]},
                              {"continuation", completions[i]},
                              {"outcome", outcomes.empty() ? "not executed" : NameOf(outcomes[i])}});
  }
  return result;
}

}  // namespace

std::vector<HumanEvalProblem> LoadHumanEval(const std::string& path) {
  std::vector<HumanEvalProblem> problems;
  for (const JsonLine& line : LoadJsonLines(path)) {
    problems.push_back({line.String("task_id"), line.String("prompt"), line.String("entry_point"),
                        line.String("canonical_solution"), line.String("test")});
  }
  return problems;
}

std::string MakeProgram(const HumanEvalProblem& problem, const std::string& completion) {
  return problem.prompt + completion + "\n" + problem.test + "\ncheck(" + problem.entry_point + ")";
}

const Task kHumanEvalTask = {.name = "humaneval",
                             .version = 1,
                             .num_documents = 164,
                             .folder = "humaneval",
                             .file = "HumanEval.jsonl.gz",
                             .run = RunHumanEval};

}  // namespace ghost
