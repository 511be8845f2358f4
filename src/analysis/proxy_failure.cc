#include "analysis/proxy_failure.h"

#include <algorithm>
#include <cmath>

#include "analysis/mean.h"
#include "base/check.h"

namespace ghost {
namespace {

// Between the two nearest values, as NumPy's default does it.
double Quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double Pearson(const std::vector<std::pair<double, double>>& points) {
  double x_mean = 0, y_mean = 0;
  for (const auto& [x, y] : points) x_mean += x, y_mean += y;
  x_mean /= static_cast<double>(points.size()), y_mean /= static_cast<double>(points.size());
  double xx = 0, yy = 0, xy = 0;
  for (const auto& [x, y] : points) {
    xx += (x - x_mean) * (x - x_mean);
    yy += (y - y_mean) * (y - y_mean);
    xy += (x - x_mean) * (y - y_mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0.0;
}

}  // namespace

std::vector<double> Standardise(const std::vector<double>& values, Standard standard) {
  if (values.empty()) return {};
  double middle = 0, spread = 0;
  if (standard == Standard::kMedian) {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    middle = Quantile(sorted, 0.5);
    spread = Quantile(sorted, 0.75) - Quantile(sorted, 0.25);
  } else {
    middle = Mean(values);
    double squares = 0;
    for (const double value : values) squares += (value - middle) * (value - middle);
    spread = std::sqrt(squares / static_cast<double>(values.size()));
  }
  std::vector<double> out;
  for (const double value : values) out.push_back(spread > 0 ? (value - middle) / spread : 0.0);
  return out;
}

ProxyFailure CompareProxies(const std::vector<std::vector<double>>& static_scores,
                            const std::vector<std::vector<double>>& dynamic_scores, Standard standard) {
  GHOST_CHECK(static_scores.size() == dynamic_scores.size());
  ProxyFailure result;
  for (size_t layer = 0; layer < static_scores.size(); ++layer) {
    GHOST_CHECK(static_scores[layer].size() == dynamic_scores[layer].size());
    const std::vector<double> x = Standardise(static_scores[layer], standard);
    const std::vector<double> y = Standardise(dynamic_scores[layer], standard);
    for (size_t i = 0; i < x.size(); ++i) result.points.emplace_back(x[i], y[i]);
  }
  if (result.points.empty()) return result;
  for (const auto& [x, y] : result.points) {
    result.phantom += x < 0 && y > 0 ? 1 : 0;
    result.corporeal += x > 0 && y < 0 ? 1 : 0;
  }
  result.phantom /= static_cast<double>(result.points.size());
  result.corporeal /= static_cast<double>(result.points.size());
  result.pearson = Pearson(result.points);
  return result;
}

}  // namespace ghost
