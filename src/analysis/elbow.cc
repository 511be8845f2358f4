#include "analysis/elbow.h"

#include <algorithm>
#include <cmath>

namespace ghost {
namespace {

bool Counts(const std::vector<double>& scores) {
  return !scores.empty() &&
         std::all_of(scores.begin(), scores.end(), [](double s) { return std::isfinite(s); }) &&
         *std::max_element(scores.begin(), scores.end()) > 0;
}

}  // namespace

Elbow FindElbow(const std::vector<std::vector<double>>& layers) {
  size_t longest = 0, counted = 0;
  for (const auto& layer : layers) {
    if (Counts(layer)) longest = std::max(longest, layer.size());
  }
  Elbow elbow;
  elbow.curve.assign(longest, 0.0);
  for (std::vector<double> layer : layers) {
    if (!Counts(layer)) continue;
    ++counted;
    std::sort(layer.begin(), layer.end());
    for (size_t r = 0; r < longest; ++r) elbow.curve[r] += layer[r * layer.size() / longest] / layer.back();
  }
  for (double& value : elbow.curve) value /= static_cast<double>(std::max<size_t>(counted, 1));
  // Of all points the distance to the chord is the vertical one times the same cosine.
  double farthest = 0;
  for (size_t r = 0; r < longest; ++r) {
    const double part = longest > 1 ? static_cast<double>(r) / static_cast<double>(longest - 1) : 0.0;
    const double chord = elbow.curve.front() + part * (elbow.curve.back() - elbow.curve.front());
    if (chord - elbow.curve[r] > farthest) {
      farthest = chord - elbow.curve[r];
      elbow.rank = static_cast<int>(r);
    }
  }
  return elbow;
}

}  // namespace ghost
