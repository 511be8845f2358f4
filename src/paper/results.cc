#include "paper/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "eval/task.h"
#include "report/eval_document.h"
#include "report/numbers.h"

namespace ghost {
namespace {

constexpr int64_t kQuickShare = 16;

[[noreturn]] void NotAResult(const std::string& file, const std::string& reason) {
  throw Error(ErrorKind::kCorrupt, "not a result of ghost eval",
              {.file = file, .actual = reason, .hint = "remove it"});
}

// The first task of a saved evaluation.
EvalTaskResult LoadResult(const std::string& file) {
  try {
    EvalDocument document = ReadEvalDocument(LoadJson(file));
    if (document.results.empty()) NotAResult(file, "no task");
    return std::move(document.results.front());
  } catch (const Json::exception& error) {
    NotAResult(file, error.what());
  }
}

}  // namespace

std::vector<PruneSetting> PaperResults::SettingsOf(const PruneSetting& asked) const {
  PruneSetting setting = asked;
  if (setup_.quick) setting.samples = std::max<int64_t>(1, setting.samples / kQuickShare);
  if (!setting.seeded) return {setting};
  std::vector<PruneSetting> settings;
  for (int seed = 1; seed <= setup_.seeds; ++seed) {
    setting.seed = static_cast<uint64_t>(seed);
    settings.push_back(setting);
  }
  return settings;
}

int64_t PaperResults::LimitOf(const std::string& task) const {
  if (!setup_.quick) return 0;
  return task == "wikitext" ? 2 : task == "humaneval" ? 4 : 40;
}

// Everything a result depends on, beside the data, is in its name: results of other settings are not taken
// for it.
std::string PaperResults::FileOf(const PaperModel& model, const PruneSetting& setting,
                                 const Measurement& what) const {
  std::string name = fmt::format("{}-{}", what.task, what.max_length);
  if (const int64_t limit = LimitOf(what.task); limit > 0) name += fmt::format("-first{}", limit);
  if (setup_.bos != "none") name += "-bos-" + setup_.bos;
  if (setup_.prefix_token >= 0) name += fmt::format("-prefix{}", setup_.prefix_token);
  return fmt::format("{}/{}/{}/{}.json", setup_.output, model.folder, NameOf(setting), name);
}

std::string PaperResults::CalibrationFile() const {
  if (!setup_.calibration.empty()) return setup_.calibration;
  const std::filesystem::path test = FindTaskFile(*FindTask("wikitext"), setup_.data);
  for (const char* name :
       {"wiki.train.raw", "wiki.train.raw.xz", "wiki.train.raw.gz", "wiki.train.head.raw"}) {
    const std::string file = (test.parent_path() / name).string();
    if (FileExists(file)) return file;
  }
  throw Error(ErrorKind::kNotFound, "no text to calibrate on",
              {.file = (test.parent_path() / "wiki.train.raw").string(),
               .hint = "another text can be given",
               .setting = "calibration"});
}

std::string PaperResults::NameOf(const PruneSetting& setting) const {
  const bool other_text = setting.source == "wikitext" && !setup_.calibration.empty();
  return other_text ? setting.Name() + "-of-" + FileName(setup_.calibration) : setting.Name();
}

void PaperResults::Require(const PaperModel& model, const Measurement& what) {
  // Missing files should not be noticed after hours.
  FindTaskFile(*FindTask(what.task), setup_.data);
  if (what.pruning.source == "wikitext") CalibrationFile();
  for (const PruneSetting& setting : SettingsOf(what.pruning)) {
    const std::string file = FileOf(model, setting, what);
    if (FileExists(file)) continue;
    Job& job = jobs_.try_emplace(model.folder + "/" + NameOf(setting), Job{model, setting, {}}).first->second;
    job.missing[file] = {what.task, what.max_length};
  }
}

std::string PaperResults::PruneFor(const Job& job) const {
  if (job.setting.method.empty()) return job.model.path;
  PruneRequest request{.setting = job.setting};
  request.output =
      fmt::format("{}/pruned/{}-{}", setup_.output, FileName(job.model.folder), NameOf(job.setting));
  if (job.model.path.ends_with(".gguf")) request.output += ".gguf";  // keeps the tokenizer inside
  if (job.setting.source == "wikitext") {
    request.calibration = CalibrationFile();
  } else if (!job.setting.source.empty()) {
    request.calibration = "task:" + job.setting.source;
    request.data = setup_.data;
  }
  std::filesystem::create_directories(setup_.output + "/pruned");
  // Outputs appear whole: one that exists was left by a run that was interrupted while it evaluated.
  if (!std::filesystem::exists(request.output)) actions_.prune(job.model, request);
  return request.output;
}

void PaperResults::Run(const Job& job) const {
  const std::string checkpoint = PruneFor(job);
  for (const auto& [file, evaluation] : job.missing) {
    EvalRequest request{.checkpoint = checkpoint,
                        .task = evaluation.task,
                        .max_length = evaluation.max_length,
                        .limit = LimitOf(evaluation.task),
                        .output = file};
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    if (evaluation.task == "humaneval")
      request.programs = std::filesystem::path(file).replace_extension("programs").string();
    actions_.evaluate(job.model, request);
  }
  if (checkpoint != job.model.path) std::filesystem::remove_all(checkpoint);
}

void PaperResults::MeasureMissing() {
  Progress progress("reproduce", "pruned models");
  int64_t done = 0;
  try {
    for (const auto& [name, job] : jobs_) {
      progress.Update(done++, static_cast<int64_t>(jobs_.size()), name);
      Run(job);
    }
    progress.Update(done, done);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kResumable) throw;
    throw Error(ErrorKind::kResumable, "interrupted",
                {.file = setup_.output, .hint = "the same command continues"});
  } catch (const Interrupted&) {
    throw Error(ErrorKind::kResumable, "interrupted",
                {.file = setup_.output, .hint = "the same command continues"});
  }
  jobs_.clear();
}

std::vector<double> PaperResults::Values(const PaperModel& model, const Measurement& what) const {
  std::vector<double> values;
  for (const PruneSetting& setting : SettingsOf(what.pruning)) {
    const EvalTaskResult result = LoadResult(FileOf(model, setting, what));
    const auto found = result.metrics.find(what.metric);
    if (found == result.metrics.end()) continue;
    values.push_back(found->second * (IsShare(what.metric) ? 100.0 : 1.0));
  }
  return values;
}

}  // namespace ghost
