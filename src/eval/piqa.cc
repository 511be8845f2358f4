// piqa: which of two ways reaches an everyday goal?
#include "base/file.h"
#include "eval/json_lines.h"
#include "eval/multiple_choice.h"

namespace ghost {
namespace {

// "valid.jsonl" has its labels in "valid-labels.lst", one a line.
std::string LabelFile(const std::string& path) { return path.substr(0, path.rfind('.')) + "-labels.lst"; }

size_t ToLabel(const std::string& text, const std::string& file, int64_t line) {
  if (text != "0" && text != "1") throw DocumentError(file, line, "label makes no sense", "0 or 1", text);
  return text == "1" ? 1 : 0;
}

std::vector<size_t> LoadLabels(const std::string& file, size_t count) {
  const std::string text = LoadDocumentText(file);
  std::vector<size_t> labels;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(ToLabel(line, file, static_cast<int64_t>(labels.size()) + 1));
    begin = end + 1;
  }
  if (labels.size() != count) {
    throw DocumentError(file, static_cast<int64_t>(labels.size()),
                        "labels and documents do not belong together", std::to_string(count) + " labels",
                        std::to_string(labels.size()));
  }
  return labels;
}

// A field `label` in the documents, as some copies have it, or the file beside them.
std::vector<ChoiceDocument> LoadPiqa(const std::string& path) {
  const std::vector<JsonLine> lines = LoadJsonLines(path);
  std::vector<size_t> labels;
  if (!lines.front().Has("label")) labels = LoadLabels(LabelFile(path), lines.size());
  std::vector<ChoiceDocument> documents;
  for (const JsonLine& line : lines) {
    ChoiceDocument document;
    document.context = "Question: " + line.String("goal") + "\nAnswer:";
    document.choices = {line.String("sol1"), line.String("sol2")};
    if (!labels.empty()) {
      document.gold = labels[documents.size()];
    } else if (!line.Has("label")) {
      line.Fail("document lacks a field", "\"label\": 0 or 1", "no such field");
    } else {
      document.gold = ToLabel(line.object()["label"].dump(), path, line.line());
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace

const Task kPiqaTask = {.name = "piqa",
                        .version = 1,
                        .num_documents = 1838,
                        .folder = "piqa",
                        .file = "valid.jsonl",
                        .calibration_files = {"train.jsonl"},
                        .run =
                            [](LanguageModel& model, const std::string& path, const TaskOptions& options) {
                              return RunMultipleChoice(model, LoadPiqa(path), options,
                                                       ChoiceMetrics::kAccAndNorm, "piqa");
                            },
                        .examples = [](const std::string& path) { return ChoiceExamples(LoadPiqa(path)); }};

}  // namespace ghost
