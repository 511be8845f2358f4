// How much sharing and batching are worth: documents per second of each task on a mamba2-130m-shaped model,
// against scoring every request by itself from scratch, in one run. The two take turns, so that both see the
// same machine. Usage: eval_bench [LIMIT [TASK...]], in the source tree's root; GHOST_SHARED names the data.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "base/timer.h"
#include "checkpoint/family.h"
#include "checkpoint/random_model.h"
#include "eval/runner_model.h"
#include "eval/task.h"
#include "text/test_files.h"

namespace ghost {
namespace {

// Of all threads; steadier than the clock on the wall when the machine has other work.
double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Speed {
  double seconds = 0.0, cpu_seconds = 0.0;
  int64_t documents = 0, requests = 0, tokens = 0, run = 0;
};

void Measure(const Task& task, RunnerModel& runner, const Tokenizer& tokenizer,
             const TaskOptions& task_options, Speed& speed) {
  const int64_t run_before = runner.tokens_run();
  LanguageModel language_model(runner, tokenizer, MakeRequestRules(tokenizer, 2048, BosRule::kNone));
  const std::string data = FindSharedFile("README.md");
  const double cpu_before = CpuSeconds();
  const Timer timer;
  const TaskResult result =
      task.run(language_model, FindTaskFile(task, data.substr(0, data.rfind('/'))), task_options);
  speed.seconds += timer.Seconds();
  speed.cpu_seconds += CpuSeconds() - cpu_before;
  speed.documents += result.documents;
  speed.requests += language_model.counts().requests;
  speed.tokens += language_model.counts().input_tokens;
  speed.run += runner.tokens_run() - run_before;
}

int Main(int argc, char** argv) {
  if (FindSharedFile("README.md").empty())
    throw Error(ErrorKind::kNotFound, "no data in $GHOST_SHARED or ../shared");
  SetQuiet(true);
  const int64_t limit = argc > 1 ? std::atoll(argv[1]) : 32;
  std::vector<const Task*> tasks;
  for (int i = 2; i < argc; ++i) tasks.push_back(FindTask(argv[i]));
  if (tasks.empty()) tasks = {&kArcEasyTask, &kArcChallengeTask, &kPiqaTask, &kLambadaTask, &kMmluTask};
  const Tokenizer tokenizer = LoadTokenizer(FindSharedFile("tokenizers/gpt-neox-20b/tokenizer.json"));
  const Model model = MakeRandomModel(ReleasedConfig("mamba2-130m"), DType::kF32, 1);
  RunnerModel slow_runner(model, {.share_prefixes = false, .batch = 1}), fast_runner(model, {});
  std::printf("%-28s %6s %9s %9s %7s %9s %12s %12s %14s\n", "task", "docs", "alone", "shared", "ratio",
              "CPU ratio", "requests/s", "tokens/s", "tokens run");
  for (const Task* task : tasks) {
    if (task == nullptr) throw Error(ErrorKind::kUsage, "unknown task");
    TaskOptions options;
    options.limit = limit;
    options.shots = task->max_shots;
    Speed alone, shared;
    for (int turn = 0; turn < 2; ++turn) {
      Measure(*task, slow_runner, tokenizer, options, alone);
      Measure(*task, fast_runner, tokenizer, options, shared);
    }
    const double slow = static_cast<double>(alone.documents) / alone.seconds;
    const double fast = static_cast<double>(shared.documents) / shared.seconds;
    std::printf("%-28s %6lld %7.2f/s %7.2f/s %7.2f %9.2f %12.1f %12.0f %12.0f %%\n",
                std::string(task->name).c_str(), static_cast<long long>(limit), slow, fast, fast / slow,
                alone.cpu_seconds / shared.cpu_seconds, static_cast<double>(shared.requests) / shared.seconds,
                static_cast<double>(shared.tokens) / shared.seconds,
                100.0 * static_cast<double>(shared.run) / static_cast<double>(alone.run));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace ghost

int main(int argc, char** argv) {
  try {
    return ghost::Main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
