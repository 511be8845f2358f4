// mmlu_elementary_mathematics: four answers, and the model says a letter.
#include "base/error.h"
#include "base/file.h"
#include "eval/csv.h"
#include "eval/json_lines.h"
#include "eval/multiple_choice.h"
#include "text/tokenizer/python_text.h"

namespace ghost {
namespace {

constexpr char kDescription[] =
    "The following are multiple choice questions (with answers) about elementary mathematics.\n\n";
constexpr char kLetters[] = "ABCD";

// One row: question, four answers, the letter of the right one. The context lacks the description.
ChoiceDocument ToDocument(const CsvRow& row, const std::string& path) {
  if (row.fields.size() != 6) {
    throw DocumentError(path, row.line, "row has the wrong number of fields", "question, A, B, C, D, answer",
                        std::to_string(row.fields.size()) + " fields");
  }
  ChoiceDocument document;
  document.context = PythonStrip(row.fields[0]);
  for (size_t i = 0; i < 4; ++i) {
    document.context += std::string("\n") + kLetters[i] + ". " + row.fields[i + 1];
    document.choices.emplace_back(1, kLetters[i]);
  }
  document.context += "\nAnswer:";
  const std::string& answer = row.fields[5];
  const size_t gold = answer.size() == 1 ? std::string_view(kLetters).find(answer) : std::string::npos;
  if (gold == std::string::npos) {
    throw DocumentError(path, row.line, "the right answer makes no sense", "A, B, C or D", answer);
  }
  document.gold = gold;
  return document;
}

std::vector<ChoiceDocument> LoadQuestions(const std::string& path) {
  std::vector<ChoiceDocument> documents;
  for (const CsvRow& row : ParseCsv(LoadDocumentText(path), path)) documents.push_back(ToDocument(row, path));
  if (documents.empty()) throw DocumentError(path, 1, "file has no documents", "one a row", "nothing");
  return documents;
}

// The dev split is in the folder of the test split.
std::string DevFile(const std::string& path) {
  const std::string from = "_test";
  const size_t at = path.rfind(from);
  if (at == std::string::npos) {
    throw Error(ErrorKind::kUsage, "no dev split to take examples from",
                {.file = path, .expected = "a file name with _test, beside one with _dev"});
  }
  return path.substr(0, at) + "_dev" + path.substr(at + from.size());
}

std::string Examples(const std::string& path, int shots) {
  std::string text = kDescription;
  if (shots == 0) return text;
  const std::vector<ChoiceDocument> dev = LoadQuestions(DevFile(path));
  if (static_cast<size_t>(shots) > dev.size()) {
    throw Error(ErrorKind::kUsage, "there are not so many examples",
                {.file = DevFile(path),
                 .expected = "at most " + std::to_string(dev.size()),
                 .actual = std::to_string(shots),
                 .setting = "shots"});
  }
  for (int i = 0; i < shots; ++i) {
    const ChoiceDocument& example = dev[static_cast<size_t>(i)];
    text += example.context + " " + example.choices[example.gold] + "\n\n";
  }
  return text;
}

TaskResult RunMmlu(LanguageModel& model, const std::string& path, const TaskOptions& options) {
  std::vector<ChoiceDocument> documents = LoadQuestions(path);
  const std::string before = Examples(path, options.shots);
  for (ChoiceDocument& document : documents) document.context = before + document.context;
  return RunMultipleChoice(model, std::move(documents), options, ChoiceMetrics::kAcc,
                           "mmlu_elementary_mathematics");
}

}  // namespace

const Task kMmluTask = {
    .name = "mmlu_elementary_mathematics",
    .version = 1,
    .num_documents = 378,
    .max_shots = 5,
    .folder = "mmlu",
    .file = "elementary_mathematics_test.csv",
    .calibration_files = {"elementary_mathematics_val.csv", "elementary_mathematics_dev.csv"},
    .run = RunMmlu,
    .examples = [](const std::string& path) { return ChoiceExamples(LoadQuestions(path)); }};

}  // namespace ghost
