#include "commands/paper_figures.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "commands/bench.h"
#include "commands/model_source.h"
#include "commands/score.h"
#include "io/safetensors.h"
#include "prune/methods/magnitude.h"
#include "report/elbow.h"
#include "report/proxy_failure.h"

namespace ghost {
namespace {

const PruneSetting kScoring = {.method = "scores", .sparsity = 0, .source = "wikitext"};

// Enough digits for a picture.
double Rounded(double value) { return std::round(value * 1e4) / 1e4; }

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

OrderedJson DescribeProxies(const ProxyFailure& proxies) {
  return {{"pearson", proxies.pearson}, {"phantom", proxies.phantom}, {"corporeal", proxies.corporeal}};
}

}  // namespace

ChannelScores LoadChannelScores(const PaperModel& model, const PaperResults& results) {
  const PruneSetting setting = results.SettingsOf({.pruning = kScoring}).front();
  const std::string file =
      results.setup().output + "/" + model.folder + "/" + results.NameOf(setting) + ".safetensors";
  if (!FileExists(file)) {
    ScoreOptions score;
    score.model = model.source;
    score.calibration.calibration = results.CalibrationFile();
    score.calibration.tokenizer = results.setup().tokenizer;
    score.calibration.samples = setting.samples;
    score.calibration.length = setting.length;
    score.output = file;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    Score(score);
  }
  const TensorSet stored = ReadSafetensors(file);
  const LoadedModel loaded = LoadModel(model.source);
  ChannelScores scores;
  for (int layer = 0; layer < loaded.model.config().num_layers(); ++layer) {
    const MambaBlock& block = *loaded.model.layers()[static_cast<size_t>(layer)]->mixer();
    scores.magnitude.push_back(MagnitudeScores(block));
    scores.ghost.push_back(GhostScores(stored, layer, file));
    if (scores.ghost.back().size() != scores.magnitude.back().size()) {
      throw Error(ErrorKind::kCorrupt, "scores of another model", {.file = file, .hint = "remove it"});
    }
  }
  return scores;
}

OrderedJson ProxyFailureFigure(const ChannelScores& scores) {
  const ProxyFailure proxies = CompareProxies(scores.magnitude, scores.ghost, Standard::kMedian);
  OrderedJson points = OrderedJson::array();
  for (const auto& [x, y] : proxies.points) points.push_back({Rounded(x), Rounded(y)});
  return {{"caption", "Static magnitude against dynamic energy, a point per state channel"},
          {"by_median", DescribeProxies(proxies)},
          {"by_mean", DescribeProxies(CompareProxies(scores.magnitude, scores.ghost, Standard::kMean))},
          {"paper", {{"pearson", -0.19}, {"phantom", 0.2066}, {"corporeal", 0.2064}}},
          {"points", std::move(points)}};
}

OrderedJson MethodFigure(const PaperModel& model) {
  const LoadedModel loaded = LoadModel(model.source);
  const ModelConfig& config = loaded.model.config();
  const BlockDims& dims = config.blocks.front();
  return {{"caption", "Where GHOST measures and what it removes"},
          {"d_model", config.d_model},
          {"heads", dims.num_heads},
          {"head_dim", dims.head_dim},
          {"groups", dims.num_groups()},
          {"state", dims.max_group_size()}};
}

OrderedJson CostFigure(const PaperModel& model, const PaperResults& results) {
  const std::string file = results.setup().output + "/" + model.folder + "/cost.json";
  if (!FileExists(file)) {
    BenchOptions bench;
    bench.model = model.source.model;
    bench.norm_groups = model.source.norm_groups;
    bench.calibration = true;
    bench.repeats = 1;
    bench.samples = results.setup().quick ? 2 : 8;
    bench.output = file;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    Bench(bench);
  }
  const Json measured = LoadJson(file);
  OrderedJson rows = OrderedJson::array();
  for (const Json& row : measured.at("calibration")) {
    rows.push_back({{"method", row.at("method")},
                    {"forward_passes", row.at("times_forward")},
                    {"memory_bytes", row.at("peak_anonymous_bytes")}});
  }
  return {{"caption", "Time and memory of pruning"},
          {"methods", std::move(rows)},
          {"paper",
           {{{"method", "ghost"}, {"forward_passes", 2}, {"memory_bytes", 14.98e9}},
            {{"method", "magnitude"}, {"forward_passes", 0}, {"memory_bytes", 2.5e9}},
            {{"method", "random"}, {"forward_passes", 0}, {"memory_bytes", 2.5e9}},
            {{"method", "taylor"}, {"forward_passes", 3}, {"memory_bytes", 44.87e9}},
            {{"method", "sparsegpt"}, {"forward_passes", 3.5}, {"memory_bytes", 14.99e9}}}}};
}

OrderedJson TableFigure(const OrderedJson& table) {
  return {{"caption", table["caption"]},
          {"column_label", table["column_label"]},
          {"columns", table["columns"]},
          {"rows", table["rows"]}};
}

OrderedJson ElbowFigure(const ChannelScores& scores) {
  const Elbow elbow = FindElbow(scores.ghost);
  return {{"caption", "Scores from low to high, mean over layers"},
          {"curve", elbow.curve},
          {"rank", elbow.rank},
          {"paper", {{"rank", 110}, {"of", 128}}}};
}

OrderedJson HeatMapFigure(const ChannelScores& scores) {
  OrderedJson rows = OrderedJson::array();
  for (const std::vector<double>& layer : scores.ghost) {
    const double highest = *std::max_element(layer.begin(), layer.end());
    OrderedJson row = OrderedJson::array();
    for (const double score : layer) row.push_back(highest > 0 ? Rounded(score / highest) : 0.0);
    rows.push_back(std::move(row));
  }
  return {{"caption", "Scores of all channels, every layer over its own maximum"},
          {"layers", std::move(rows)}};
}

}  // namespace ghost
