#include "model/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/rows/softmax.h"

namespace ghost {

int32_t Sampler::Sample(std::span<const float> logits, int32_t limit) {
  logits = logits.first(std::min(logits.size(), static_cast<size_t>(limit)));
  GHOST_CHECK(!logits.empty());
  const int32_t best = ArgMax(logits);
  if (options_.temperature <= 0.0) return best;

  const double largest = logits[static_cast<size_t>(best)];
  double sum = 0.0;
  candidates_.resize(logits.size());
  for (size_t v = 0; v < logits.size(); ++v) {
    const double weight = std::exp((static_cast<double>(logits[v]) - largest) / options_.temperature);
    candidates_[v] = {static_cast<int32_t>(v), weight};
    sum += weight;
  }
  // Most likely first, so that the nucleus is a prefix; equal ones by id, so that the order is the same
  // everywhere.
  std::ranges::sort(candidates_, [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  });
  double nucleus = 0.0;
  size_t kept = 0;
  while (kept < candidates_.size() && (kept == 0 || nucleus < options_.top_p * sum)) {
    nucleus += candidates_[kept++].probability;
  }
  double remaining = rng_.Uniform() * nucleus;
  for (size_t i = 0; i < kept; ++i) {
    remaining -= candidates_[i].probability;
    if (remaining < 0.0) return candidates_[i].id;
  }
  return candidates_[kept - 1].id;
}

}  // namespace ghost
