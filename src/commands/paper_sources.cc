#include "commands/paper_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "checkpoint/family.h"
#include "checkpoint/random_model.h"
#include "commands/bench.h"
#include "commands/eval_result.h"
#include "commands/model_source.h"
#include "commands/prune.h"
#include "commands/score.h"
#include "io/safetensors.h"
#include "prune/method.h"
#include "prune/methods/magnitude.h"
#include "report/bench_document.h"

namespace ghost {
namespace {

// Only for the name of the file with scores; nothing is pruned.
const PruneSetting kScoring = {.method = "scores", .sparsity = 0, .source = "wikitext"};

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

void PrunePaperModel(const MeasuringOptions& o, const PaperModel& model, const PruneRequest& request) {
  PruneOptions prune;
  prune.model = {model.path, o.norm_groups, o.dt_min};
  prune.output = request.output;
  prune.method = request.setting.method;
  prune.sparsity = request.setting.sparsity;
  // The paper drops the lowest of a layer, whichever group they are in.
  if (model.grouped && FindMethod(prune.method).drops_channels) prune.storage = "ragged";
  if (!request.calibration.empty()) prune.calibration.calibration = {request.calibration};
  prune.calibration.data = request.data;
  prune.calibration.tokenizer = o.tokenizer;
  prune.calibration.samples = request.setting.samples;
  prune.calibration.length = request.setting.length;
  prune.calibration.seed = request.setting.seed;
  prune.resume = true;
  prune.force = true;
  Prune(prune);
}

void EvaluatePaperModel(const MeasuringOptions& o, const EvalRequest& request) {
  EvalOptions eval;
  eval.model = {request.checkpoint, o.norm_groups, o.dt_min};
  eval.task = request.task;
  eval.data = o.data;
  eval.tokenizer = o.tokenizer;
  eval.max_length = request.max_length;
  eval.limit = request.limit;
  eval.bos = o.bos;
  eval.prefix_token = o.prefix_token;
  eval.allow_code_execution = o.allow_code_execution;
  eval.programs = request.programs;
  eval.force = !request.programs.empty();
  eval.output = request.output;
  Evaluate(eval);
}

// Equation 4: the root of the sums that are stored. Its constant factor does not matter here.
std::vector<double> GhostScores(const TensorSet& stored, int layer, const std::string& file) {
  const auto found = stored.tensors.find("ghost.S." + std::to_string(layer));
  if (found == stored.tensors.end() || found->second.tensor.dtype() != DType::kF64) {
    throw Error(ErrorKind::kCorrupt, "not a result of ghost score", {.file = file, .hint = "remove it"});
  }
  const Tensor& tensor = found->second.tensor;
  std::vector<double> scores(static_cast<size_t>(tensor.num_elements()));
  std::memcpy(scores.data(), tensor.data(), tensor.num_bytes());
  for (double& score : scores) score = std::sqrt(score);
  return scores;
}

// The scores of the dense model, made if there are none yet.
std::string ScoreFile(const SourceModel& model, const std::string& tokenizer, const PaperResults& results) {
  const PruneSetting setting = results.SettingsOf(kScoring).front();
  const std::string file =
      results.setup().output + "/" + model.paper.folder + "/" + results.NameOf(setting) + ".safetensors";
  if (FileExists(file)) return file;
  ScoreOptions score;
  score.model = model.options;
  score.calibration.calibration = {results.CalibrationFile()};
  score.calibration.tokenizer = tokenizer;
  score.calibration.samples = setting.samples;
  score.calibration.length = setting.length;
  score.output = file;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  Score(score);
  return file;
}

}  // namespace

SourceModel DescribeSourceModel(const ModelOptions& options) {
  const LoadedModel loaded = LoadModel(options);
  const ModelConfig& config = loaded.model.config();
  SourceModel model{.options = options, .identity = IdentifyModel(loaded.checkpoint)};
  PaperModel& paper = model.paper;
  paper.path = options.model;
  paper.name = FileName(options.model);
  paper.folder = "results/" + paper.name + "-" + ShortHash(model.identity.content_hash);
  if (options.norm_groups != "auto") paper.folder += "-norm-" + options.norm_groups;
  if (options.dt_min >= 0) paper.folder += fmt::format("-dt-min-{:g}", options.dt_min);
  paper.family = config.family;
  paper.released = ReleasedShape(config);
  paper.grouped = HasGroups(config);
  return model;
}

PaperActions MakePaperActions(const MeasuringOptions& options) {
  return {.prune = [options](const PaperModel& model,
                             const PruneRequest& request) { PrunePaperModel(options, model, request); },
          .evaluate = [options](const PaperModel&,
                                const EvalRequest& request) { EvaluatePaperModel(options, request); }};
}

ChannelScores LoadChannelScores(const SourceModel& model, const std::string& tokenizer,
                                const PaperResults& results) {
  const std::string file = ScoreFile(model, tokenizer, results);
  const TensorSet stored = ReadSafetensors(file);
  const LoadedModel loaded = LoadModel(model.options);
  ChannelScores scores;
  for (int layer = 0; layer < loaded.model.config().num_layers(); ++layer) {
    const Mixer& block = loaded.model.mixer(layer);
    scores.magnitude.push_back(MagnitudeScores(block));
    scores.ghost.push_back(GhostScores(stored, layer, file));
    if (scores.ghost.back().size() != scores.magnitude.back().size()) {
      throw Error(ErrorKind::kCorrupt, "scores of another model", {.file = file, .hint = "remove it"});
    }
  }
  return scores;
}

BlockSizes LoadBlockSizes(const SourceModel& model) {
  const LoadedModel loaded = LoadModel(model.options);
  const ModelConfig& config = loaded.model.config();
  const MixerDims& dims = config.mixers.front();
  return {.d_model = config.d_model,
          .heads = dims.num_heads,
          .head_dim = dims.head_dim,
          .groups = dims.num_groups(),
          .state = dims.max_group_size()};
}

std::vector<CostRow> MeasureCosts(const SourceModel& model, const PaperResults& results) {
  const std::string file = results.setup().output + "/" + model.paper.folder + "/cost.json";
  if (!FileExists(file)) {
    BenchOptions bench;
    bench.model = model.options.model;
    bench.norm_groups = model.options.norm_groups;
    bench.calibration = true;
    bench.repeats = 1;
    bench.samples = results.setup().quick ? 2 : 8;
    bench.output = file;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    Bench(bench);
  }
  std::vector<CostRow> rows;
  for (const PruningCost& cost : ReadBenchDocument(LoadJson(file)).calibration) {
    rows.push_back({cost.method, cost.times_forward, static_cast<double>(cost.peak_anonymous_bytes)});
  }
  return rows;
}

}  // namespace ghost
