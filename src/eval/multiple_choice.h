// Tasks that ask which of a few continuations the model finds most likely (docs/cli.md, "Tasks").
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eval/task.h"

namespace ghost {

struct ChoiceDocument {
  std::string context;
  std::vector<std::string> choices;  // without the space before them
  size_t gold = 0;
};

enum class ChoiceMetrics {
  kAcc,         // the largest sum of log-probabilities is the right one
  kAccAndNorm,  // also acc_norm: the largest sum per character (code point) of the choice
};

// Scores " " + choice after the context for every choice; ties go to the first. `label` names the progress.
TaskResult RunMultipleChoice(LanguageModel& model, std::vector<ChoiceDocument> documents,
                             const TaskOptions& options, ChoiceMetrics metrics, const std::string& label);

// Context and right continuation of each document, to calibrate on.
std::vector<std::string> ChoiceExamples(const std::vector<ChoiceDocument>& documents);

}  // namespace ghost
