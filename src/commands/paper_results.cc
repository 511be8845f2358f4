#include "commands/paper_results.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "commands/document.h"
#include "commands/evaluate.h"
#include "commands/model_source.h"
#include "commands/prune.h"
#include "eval/task.h"
#include "model/random_model.h"
#include "prune/method.h"
#include "report/numbers.h"

namespace ghost {
namespace {

constexpr int64_t kQuickShare = 16;

std::string ReleasedShape(const ModelConfig& config) {
  for (const std::string& name : ReleasedNames()) {
    const ModelConfig released = ReleasedConfig(name);
    if (released.family == config.family && released.d_model == config.d_model &&
        released.num_layers() == config.num_layers() && released.vocab_size == config.vocab_size) {
      return name;
    }
  }
  return "";
}

// The last eight digits: enough to tell models of one name apart.
std::string ShortHash(const std::string& hash) {
  return hash.substr(hash.size() - std::min<size_t>(8, hash.size()));
}

}  // namespace

PaperModel DescribePaperModel(const ModelOptions& source) {
  const LoadedModel loaded = LoadModel(source);
  PaperModel model = {.source = source, .name = FileName(source.model)};
  model.described = DescribeModel(loaded.checkpoint);
  model.folder =
      "results/" + model.name + "-" + ShortHash(model.described["content_hash"].get<std::string>());
  if (source.norm_groups != "auto") model.folder += "-norm-" + source.norm_groups;
  if (source.dt_min >= 0) model.folder += fmt::format("-dt-min-{:g}", source.dt_min);
  model.family = NameOf(loaded.model.config().family);
  model.released = ReleasedShape(loaded.model.config());
  model.grouped = loaded.model.config().blocks.front().num_groups() > 1;
  return model;
}

std::vector<PruneSetting> PaperResults::SettingsOf(const Measurement& what) const {
  PruneSetting setting = what.pruning;
  if (setup_.quick) setting.samples = std::max<int64_t>(1, setting.samples / kQuickShare);
  if (setting.method != "random") return {setting};
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
               .hint = "--calibration FILE takes another one"});
}

std::string PaperResults::NameOf(const PruneSetting& setting) const {
  const bool other_text = setting.source == "wikitext" && !setup_.calibration.empty();
  return other_text ? setting.Name() + "-of-" + FileName(setup_.calibration) : setting.Name();
}

void PaperResults::Require(const PaperModel& model, const Measurement& what) {
  // What is not there should not be noticed after hours.
  FindTaskFile(*FindTask(what.task), setup_.data);
  if (what.pruning.source == "wikitext") CalibrationFile();
  for (const PruneSetting& setting : SettingsOf(what)) {
    const std::string file = FileOf(model, setting, what);
    if (FileExists(file)) continue;
    Job& job = jobs_.try_emplace(model.folder + "/" + NameOf(setting), Job{model, setting, {}}).first->second;
    job.missing[file] = {what.task, what.max_length};
  }
}

std::string PaperResults::PruneFor(const Job& job) const {
  if (job.setting.method.empty()) return job.model.source.model;
  PruneOptions prune;
  prune.model = job.model.source;
  prune.output =
      fmt::format("{}/pruned/{}-{}", setup_.output, FileName(job.model.folder), NameOf(job.setting));
  if (prune.model.model.ends_with(".gguf")) prune.output += ".gguf";  // keeps the tokenizer inside
  prune.method = job.setting.method;
  prune.sparsity = job.setting.sparsity;
  // The paper drops the lowest of a layer, whichever group they are in.
  if (job.model.grouped && FindMethod(job.setting.method).drops_channels) prune.storage = "ragged";
  prune.calibration.tokenizer = setup_.tokenizer;
  prune.calibration.samples = job.setting.samples;
  prune.calibration.length = job.setting.length;
  prune.calibration.seed = job.setting.seed;
  if (job.setting.source == "wikitext") {
    prune.calibration.calibration = CalibrationFile();
  } else if (!job.setting.source.empty()) {
    prune.calibration.calibration = "task:" + job.setting.source;
    prune.calibration.data = setup_.data;
  }
  prune.resume = true;
  prune.force = true;
  std::filesystem::create_directories(setup_.output + "/pruned");
  // Outputs appear whole: what is there was left by a run that was interrupted while it evaluated.
  if (!std::filesystem::exists(prune.output)) Prune(prune);
  return prune.output;
}

void PaperResults::Run(const Job& job) const {
  const std::string pruned = PruneFor(job);
  for (const auto& [file, evaluation] : job.missing) {
    EvalOptions eval;
    eval.model = job.model.source;
    eval.model.model = pruned;
    eval.task = evaluation.task;
    eval.data = setup_.data;
    eval.tokenizer = setup_.tokenizer;
    eval.max_length = evaluation.max_length;
    eval.limit = LimitOf(evaluation.task);
    eval.bos = setup_.bos;
    eval.prefix_token = setup_.prefix_token;
    eval.allow_code_execution = setup_.allow_code_execution;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    if (evaluation.task == "humaneval") {
      eval.programs = std::filesystem::path(file).replace_extension("programs").string();
      eval.force = true;
    }
    eval.output = file;
    Evaluate(eval);
  }
  if (pruned != job.model.source.model) std::filesystem::remove_all(pruned);
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
                {.file = setup_.output, .hint = "the same command goes on"});
  } catch (const Interrupted&) {
    throw Error(ErrorKind::kResumable, "interrupted",
                {.file = setup_.output, .hint = "the same command goes on"});
  }
  jobs_.clear();
}

std::vector<double> PaperResults::Values(const PaperModel& model, const Measurement& what) const {
  std::vector<double> values;
  for (const PruneSetting& setting : SettingsOf(what)) {
    const std::string file = FileOf(model, setting, what);
    const Json document = LoadJson(file);
    const Json& results = document.value("results", Json::array());
    if (results.empty() || !results[0].is_object()) {
      throw Error(ErrorKind::kCorrupt, "not a result of ghost eval", {.file = file, .hint = "remove it"});
    }
    const Json value = results[0].value(what.metric, Json());
    if (value.is_number()) values.push_back(value.get<double>() * (IsShare(what.metric) ? 100.0 : 1.0));
  }
  return values;
}

}  // namespace ghost
