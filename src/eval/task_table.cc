#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "eval/task.h"

namespace ghost {
namespace {

constexpr const Task* kTasks[] = {&kWikitextTask,     &kLambadaTask, &kPiqaTask,     &kArcEasyTask,
                                  &kArcChallengeTask, &kMmluTask,    &kHumanEvalTask};

// Where `file` may be below the folder `data`.
std::array<std::string, 3> Places(const Task& task, const std::string& data, std::string_view file) {
  const std::string name(file), folder(task.folder);
  return {data + "/" + name, data + "/" + folder + "/" + name, data + "/eval/" + folder + "/" + name};
}

std::string FindBelow(const Task& task, const std::string& data, std::string_view file) {
  for (const std::string& place : Places(task, data, file)) {
    if (FileExists(place)) return place;
  }
  return "";
}

}  // namespace

std::span<const Task* const> AllTasks() { return kTasks; }

const Task* FindTask(std::string_view name) {
  const auto it = std::find_if(std::begin(kTasks), std::end(kTasks),
                               [&](const Task* task) { return task->name == name; });
  return it == std::end(kTasks) ? nullptr : *it;
}

std::string FindTaskFile(const Task& task, const std::string& data) {
  if (data.empty()) {
    throw Error(ErrorKind::kUsage, "task " + std::string(task.name) + " needs its documents",
                {.expected = "a folder with " + std::string(task.folder) + "/" + std::string(task.file) +
                             ", or the file itself",
                 .setting = "data"});
  }
  if (!DirectoryExists(data)) {
    if (!FileExists(data)) throw Error(ErrorKind::kNotFound, "cannot open file", {.file = data});
    return data;
  }
  const std::string found = FindBelow(task, data, task.file);
  if (found.empty()) {
    const auto places = Places(task, data, task.file);
    throw Error(ErrorKind::kNotFound, "documents of task " + std::string(task.name) + " are missing",
                {.file = data, .expected = places[0] + ", " + places[1] + " or " + places[2]});
  }
  return found;
}

std::string FindCalibrationFile(const Task& task, const std::string& data) {
  if (DirectoryExists(data)) {
    for (const std::string_view file : task.calibration_files) {
      const std::string found = file.empty() ? "" : FindBelow(task, data, file);
      if (!found.empty()) return found;
    }
  }
  return FindTaskFile(task, data);
}

int64_t Limited(int64_t total, int64_t limit) { return limit > 0 ? std::min(total, limit) : total; }

}  // namespace ghost
