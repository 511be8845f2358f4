// Means and their standard errors, as lm-evaluation-harness reports them (docs/cli.md, "Tasks").
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ghost {

struct Estimate {
  double value = 0.0;
  std::optional<double> standard_error;  // nothing for fewer than two documents
};

// The mean; its standard error is the sample standard deviation (n-1) over sqrt(n).
Estimate Mean(std::span<const double> values);

// exp(-mean of log-likelihoods). The harness bootstraps the standard error; this is the delta method,
// perplexity * s / sqrt(n), which it approaches.
Estimate PerplexityOf(std::span<const double> log_likelihoods);

// The unbiased estimate of the chance that one of k samples is right, from n samples with c right ones:
// 1 - prod_{m = n-c+1}^{n} (1 - k/m), and 1 if n - c < k.
double PassAtK(int64_t n, int64_t c, int64_t k);

}  // namespace ghost
