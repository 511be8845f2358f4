#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/elbow.h"
#include "base/file_name.h"
#include "base/units.h"
#include "report/bar_chart.h"
#include "report/numbers.h"
#include "report/prune_document.h"
#include "report/score_pictures.h"
#include "report/sections.h"

namespace ghost {
namespace {

bool HasScores(const std::vector<PrunedLayer>& layers) {
  return std::any_of(layers.begin(), layers.end(),
                     [](const PrunedLayer& layer) { return !layer.scores.empty(); });
}

// Equation 4 has a root, which changes no order; documents hold the sums.
void TakeRoots(std::vector<PrunedLayer>& layers) {
  for (PrunedLayer& layer : layers) {
    for (double& score : layer.scores) score = std::sqrt(score);
  }
}

std::string DrawScores(const std::vector<PrunedLayer>& layers) {
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<bool>> kept;
  for (const PrunedLayer& layer : layers) {
    const double highest =
        layer.scores.empty() ? 1.0 : *std::max_element(layer.scores.begin(), layer.scores.end());
    scores.push_back(layer.scores);
    for (double& score : scores.back()) score = highest > 0 ? score / highest : 0.0;
    kept.push_back(layer.kept);
  }
  return DrawScoreMap(std::move(scores), std::move(kept));
}

// State channels per layer before and after; nothing where all stay.
void AddStateSizes(const std::vector<PrunedLayer>& layers, HtmlPage& page) {
  BarChart chart = {.title = "State channels per layer",
                    .x_label = "layer",
                    .y_label = "channels of all groups",
                    .series = {{.label = "before"}, {.label = "after"}}};
  bool smaller = false;
  for (const PrunedLayer& layer : layers) {
    const auto before = static_cast<double>(layer.kept.size()), after = static_cast<double>(layer.state_size);
    chart.groups.push_back(std::to_string(layer.layer));
    chart.series[0].values.push_back(before);
    chart.series[1].values.push_back(after);
    smaller = smaller || after < before;
  }
  if (smaller) page.AddPicture(RenderSvg(chart));
}

}  // namespace

void AddPruneSection(const ResultFile& file, HtmlPage& page) {
  PruneDocument d = ReadPruneDocument(file.document);
  const PruningRecord& pruning = d.pruning;
  page.AddHeading("Pruned: " + file.path);
  page.AddText(fmt::format(
      "{} of {}{}, {}. State per sequence {} before, {} after.", pruning.method, FileName(d.model_path),
      pruning.sparsity ? ", " + Percent(*pruning.sparsity) + " dropped" : std::string(),
      pruning.calibration.empty() ? "without calibration" : "calibrated on " + pruning.calibration,
      Bytes(d.state_bytes_before), Bytes(d.state_bytes_after)));
  for (const std::string& advice : d.advice) page.AddText(advice);
  AddStateSizes(d.layers, page);
  // Random scores would be noise, and lists given by hand have none.
  if (!pruning.scores_have_meaning || !HasScores(d.layers)) return;
  if (pruning.score_is_squared) TakeRoots(d.layers);
  page.AddPicture(DrawScores(d.layers));
  std::vector<std::vector<double>> scores;
  for (const PrunedLayer& layer : d.layers) scores.push_back(layer.scores);
  const Elbow elbow = FindElbow(scores);
  if (elbow.curve.size() < 3) return;
  page.AddPicture(DrawSortedScores(elbow));
  page.AddText(
      fmt::format("The curve bends at rank {} of {} ({}).", elbow.rank, elbow.curve.size(),
                  Percent(static_cast<double>(elbow.rank) / static_cast<double>(elbow.curve.size()))));
}

}  // namespace ghost
