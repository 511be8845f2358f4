#include "paper/figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/elbow.h"
#include "analysis/proxy_failure.h"

namespace ghost {
namespace {

// Enough digits for a picture.
double Rounded(double value) { return std::round(value * 1e4) / 1e4; }

ProxySummary Summarize(const ProxyFailure& proxies) {
  return {proxies.pearson, proxies.phantom, proxies.corporeal};
}

}  // namespace

PaperDocument ProxyFailureFigure(const ChannelScores& scores) {
  const ProxyFailure proxies = CompareProxies(scores.magnitude, scores.ghost, Standard::kMedian);
  ProxyContent content;
  content.by_median = Summarize(proxies);
  content.by_mean = Summarize(CompareProxies(scores.magnitude, scores.ghost, Standard::kMean));
  content.paper = {.pearson = -0.19, .phantom = 0.2066, .corporeal = 0.2064};
  for (const auto& [x, y] : proxies.points) content.points.emplace_back(Rounded(x), Rounded(y));
  return {.id = "F1",
          .caption = "Static magnitude against dynamic energy, a point per state channel",
          .content = std::move(content)};
}

PaperDocument MethodFigure(const BlockSizes& sizes) {
  return {.id = "F2", .caption = "Where GHOST measures and what it removes", .content = MethodContent{sizes}};
}

PaperDocument CostFigure(std::vector<CostRow> measured) {
  CostContent content{.methods = std::move(measured),
                      .paper = {{"ghost", 2, 14.98e9},
                                {"magnitude", 0, 2.5e9},
                                {"random", 0, 2.5e9},
                                {"taylor", 3, 44.87e9},
                                {"sparsegpt", 3.5, 14.99e9}}};
  return {.id = "F3", .caption = "Time and memory of pruning", .content = std::move(content)};
}

PaperDocument ElbowFigure(const ChannelScores& scores) {
  Elbow elbow = FindElbow(scores.ghost);
  ElbowContent content{
      .curve = std::move(elbow.curve), .rank = elbow.rank, .paper_rank = 110, .paper_length = 128};
  return {.id = "F6", .caption = "Scores from low to high, mean over layers", .content = std::move(content)};
}

PaperDocument HeatMapFigure(const ChannelScores& scores) {
  HeatMapContent content;
  for (const std::vector<double>& layer : scores.ghost) {
    const double highest = *std::max_element(layer.begin(), layer.end());
    std::vector<double>& row = content.layers.emplace_back();
    for (const double score : layer) row.push_back(highest > 0 ? Rounded(score / highest) : 0.0);
  }
  return {.id = "F7",
          .caption = "Scores of all channels, every layer over its own maximum",
          .content = std::move(content)};
}

}  // namespace ghost
