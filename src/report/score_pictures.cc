#include "report/score_pictures.h"

#include <utility>

#include "report/heat_map.h"
#include "report/line_chart.h"

namespace ghost {

std::string DrawScoreMap(std::vector<std::vector<double>> scores, std::vector<std::vector<bool>> kept) {
  std::string note = "dark: high, every layer over its own maximum";
  if (!kept.empty()) note += "; blue: kept, grey: dropped";
  return RenderSvg(HeatMap{.title = "Scores of all state channels",
                           .x_label = "state channel",
                           .y_label = "layer",
                           .values = std::move(scores),
                           .marked = std::move(kept),
                           .note = std::move(note)});
}

std::string DrawSortedScores(const Elbow& elbow) {
  ChartSeries curve, bend = {.label = "elbow", .dots = true};
  for (size_t r = 0; r < elbow.curve.size(); ++r) {
    curve.points.emplace_back(static_cast<double>(r), elbow.curve[r]);
    if (r == static_cast<size_t>(elbow.rank)) bend.points.push_back(curve.points.back());
  }
  return RenderSvg(LineChart{"Scores from low to high",
                             "rank within the layer",
                             "score over the layer's maximum",
                             {std::move(curve), std::move(bend)}});
}

}  // namespace ghost
