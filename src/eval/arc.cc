// arc_easy and arc_challenge: science questions of a school test with three to five answers.
#include <algorithm>

#include "eval/json_lines.h"
#include "eval/multiple_choice.h"

namespace ghost {
namespace {

std::vector<ChoiceDocument> LoadArc(const std::string& path) {
  std::vector<ChoiceDocument> documents;
  for (const JsonLine& line : LoadJsonLines(path)) {
    ChoiceDocument document;
    document.context = "Question: " + line.String("question") + "\nAnswer:";
    const JsonLine choices = line.Object("choices");
    document.choices = choices.Strings("text");
    const std::vector<std::string> labels = choices.Strings("label");
    if (labels.size() != document.choices.size() || labels.empty()) {
      line.Fail("choices and labels do not belong together",
                std::to_string(document.choices.size()) + " labels, at least one",
                std::to_string(labels.size()));
    }
    const std::string key = line.String("answerKey");
    const auto gold = std::find(labels.begin(), labels.end(), key);
    if (gold == labels.end()) line.Fail("the right answer is none of the labels", "one of \"label\"", key);
    document.gold = static_cast<size_t>(gold - labels.begin());
    documents.push_back(std::move(document));
  }
  return documents;
}

std::vector<std::string> ArcExamples(const std::string& path) { return ChoiceExamples(LoadArc(path)); }

}  // namespace

const Task kArcEasyTask = {.name = "arc_easy",
                           .version = 1,
                           .num_documents = 2376,
                           .folder = "arc",
                           .file = "ARC-Easy-test.jsonl",
                           .calibration_files = {"ARC-Easy-train.jsonl", "ARC-Easy-validation.jsonl"},
                           .run =
                               [](LanguageModel& model, const std::string& path, const TaskOptions& options) {
                                 return RunMultipleChoice(model, LoadArc(path), options,
                                                          ChoiceMetrics::kAccAndNorm, "arc_easy");
                               },
                           .examples = ArcExamples};

const Task kArcChallengeTask = {
    .name = "arc_challenge",
    .version = 1,
    .num_documents = 1172,
    .folder = "arc",
    .file = "ARC-Challenge-test.jsonl",
    .calibration_files = {"ARC-Challenge-train.jsonl", "ARC-Challenge-validation.jsonl"},
    .run =
        [](LanguageModel& model, const std::string& path, const TaskOptions& options) {
          return RunMultipleChoice(model, LoadArc(path), options, ChoiceMetrics::kAccAndNorm,
                                   "arc_challenge");
        },
    .examples = ArcExamples};

}  // namespace ghost
