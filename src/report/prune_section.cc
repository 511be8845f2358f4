#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file_name.h"
#include "base/units.h"
#include "report/elbow.h"
#include "report/numbers.h"
#include "report/score_pictures.h"
#include "report/sections.h"

namespace ghost {
namespace {

// The channels of a layer, its groups one after the other.
struct Layer {
  std::vector<double> scores;
  std::vector<bool> kept;
};

Layer ReadLayer(const Json& layer, const std::string& file) {
  Layer out;
  const Json &scores = layer.at("scores"), &kept = layer.at("kept");
  for (size_t g = 0; g < scores.size(); ++g) {
    const auto group = scores.at(g).get<std::vector<double>>();
    std::vector<bool> stays(group.size(), false);
    for (const Json& channel : ListOf(kept.at(g))) {
      const size_t i = channel.get<size_t>();
      if (i >= stays.size()) {
        throw Error(ErrorKind::kCorrupt, "keeps a channel that has no score", {.file = file});
      }
      stays[i] = true;
    }
    out.scores.insert(out.scores.end(), group.begin(), group.end());
    out.kept.insert(out.kept.end(), stays.begin(), stays.end());
  }
  return out;
}

bool HasScores(const std::vector<Layer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return !layer.scores.empty(); });
}

// Equation 4 has a root, which changes no order; documents hold the sums.
void TakeRoots(std::vector<Layer>& layers) {
  for (Layer& layer : layers) {
    for (double& score : layer.scores) score = std::sqrt(score);
  }
}

std::string DrawScores(const std::vector<Layer>& layers) {
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<bool>> kept;
  for (const Layer& layer : layers) {
    const double highest =
        layer.scores.empty() ? 1.0 : *std::max_element(layer.scores.begin(), layer.scores.end());
    scores.push_back(layer.scores);
    for (double& score : scores.back()) score = highest > 0 ? score / highest : 0.0;
    kept.push_back(layer.kept);
  }
  return DrawScoreMap(std::move(scores), std::move(kept));
}

}  // namespace

void AddPruneSection(const ResultFile& file, HtmlPage& page) {
  const Json& d = file.document;
  const Json& pruning = d.at("pruning");
  const std::string method = pruning.at("method").get<std::string>();
  std::vector<Layer> layers;
  for (const Json& layer : ListOf(d.at("layers"))) layers.push_back(ReadLayer(layer, file.path));
  if (method.starts_with("ghost")) TakeRoots(layers);

  const std::string calibration = CalibrationText(pruning.value("calibration", Json()));
  page.AddHeading("Pruned: " + file.path);
  page.AddText(fmt::format(
      "{} of {}{}, {}. State per sequence {} before, {} after.", method,
      FileName(d.at("model").at("path").get<std::string>()),
      pruning.contains("sparsity") ? ", " + Percent(pruning["sparsity"].get<double>()) + " dropped"
                                   : std::string(),
      calibration.empty() ? "without calibration" : "calibrated on " + calibration,
      Bytes(d.at("state_bytes_before").get<double>()), Bytes(d.at("state_bytes_after").get<double>())));
  for (const std::string& advice : d.value("advice", std::vector<std::string>{})) page.AddText(advice);
  // Random scores would be noise, and lists given by hand have none.
  if (method == "random" || !HasScores(layers)) return;
  page.AddPicture(DrawScores(layers));
  std::vector<std::vector<double>> scores;
  for (const Layer& layer : layers) scores.push_back(layer.scores);
  const Elbow elbow = FindElbow(scores);
  if (elbow.curve.size() < 3) return;
  page.AddPicture(DrawSortedScores(elbow));
  page.AddText(
      fmt::format("The curve bends at rank {} of {} ({}).", elbow.rank, elbow.curve.size(),
                  Percent(static_cast<double>(elbow.rank) / static_cast<double>(elbow.curve.size()))));
}

}  // namespace ghost
