#include "eval/statistics.h"

#include <cmath>

namespace ghost {

Estimate Mean(std::span<const double> values) {
  Estimate estimate;
  const auto n = static_cast<double>(values.size());
  if (values.empty()) return estimate;
  double sum = 0.0, squares = 0.0;
  for (const double value : values) sum += value;
  estimate.value = sum / n;
  if (values.size() < 2) return estimate;
  for (const double value : values) squares += (value - estimate.value) * (value - estimate.value);
  estimate.standard_error = std::sqrt(squares / (n - 1.0)) / std::sqrt(n);
  return estimate;
}

Estimate PerplexityOf(std::span<const double> log_likelihoods) {
  const Estimate mean = Mean(log_likelihoods);
  Estimate perplexity{std::exp(-mean.value), std::nullopt};
  if (mean.standard_error) perplexity.standard_error = perplexity.value * *mean.standard_error;
  return perplexity;
}

double PassAtK(int64_t n, int64_t c, int64_t k) {
  if (n - c < k) return 1.0;
  double none = 1.0;  // the chance that none of k samples is right
  for (int64_t m = n - c + 1; m <= n; ++m) none *= 1.0 - static_cast<double>(k) / static_cast<double>(m);
  return 1.0 - none;
}

}  // namespace ghost
