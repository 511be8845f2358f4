// What an evaluation task is: a name, where its documents are, and a function from a model to metrics. One
// file per task; task_table.cc lists them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "eval/language_model.h"
#include "eval/statistics.h"

namespace ghost {

struct TaskOptions {
  int64_t limit = 0;  // only the first so many documents; 0 = all
  int shots = 0;      // examples in front of every question, for tasks that have them
  bool log_samples = false;
  // humaneval alone:
  double code_seconds = 3.0;  // wall-clock limit of one program
  // Why generated programs are not run; empty: they are, in a sandbox.
  std::string why_not_run = "code execution is not allowed";
  std::string programs;  // folder for the programs; empty = do not write them when they are run
  bool force = false;    // overwrite that folder
};

struct Metric {
  std::string name;  // the harness's own
  Estimate estimate;
};

// What became of generated programs.
struct CodeExecution {
  std::string why_not;   // why they were not run; empty: they were
  std::string programs;  // the folder they were written to; empty: none
  int64_t timed_out = 0;
};

struct TaskResult {
  std::vector<Metric> metrics;
  int64_t documents = 0;                        // evaluated
  int64_t documents_in_file = 0;                // before the limit
  OrderedJson details = OrderedJson::object();  // counts of this task, for its document only
  std::optional<CodeExecution> execution;       // for tasks that generate programs
  std::vector<OrderedJson> samples;             // one per document, with log_samples
};

struct Task {
  std::string_view name;
  int version = 0;            // of the harness's task
  int64_t num_documents = 0;  // of the published split
  int max_shots = 0;
  std::string_view folder, file;                           // where the documents are below a data folder
  std::array<std::string_view, 2> calibration_files = {};  // better for calibration than `file`, best first
  TaskResult (*run)(LanguageModel& model, const std::string& path, const TaskOptions& options) = nullptr;
  // Context with its right continuation, per document; null for tasks one cannot calibrate on.
  std::vector<std::string> (*examples)(const std::string& path) = nullptr;
};

extern const Task kWikitextTask, kLambadaTask, kPiqaTask, kArcEasyTask, kArcChallengeTask, kMmluTask,
    kHumanEvalTask;

std::span<const Task* const> AllTasks();
const Task* FindTask(std::string_view name);  // null when there is none

// The file of a task: `data` itself if it is a file, else `file` in the folder `data`, or in its subfolders
// FOLDER or eval/FOLDER. Error(kNotFound) lists where it was looked for.
std::string FindTaskFile(const Task& task, const std::string& data);
// The file to calibrate on: the first calibration file there is, else the evaluated one.
std::string FindCalibrationFile(const Task& task, const std::string& data);

// How many of `total` documents are evaluated.
int64_t Limited(int64_t total, int64_t limit);

}  // namespace ghost
