#include "kernels/rows/softmax.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/rows/softmax_simd.h"

namespace ghost {

double LogSumExp(std::span<const float> logits) {
  GHOST_CHECK(!logits.empty());
  const int64_t V = static_cast<int64_t>(logits.size());
  const float max = MaxValue(logits.data(), V);
  if (std::isinf(max)) return max;  // all -infinity, or some +infinity: there is no finite sum
  return max + std::log(SumExp(logits.data(), max, V));
}

double LogProb(std::span<const float> logits, int32_t target) {
  GHOST_CHECK(target >= 0 && static_cast<size_t>(target) < logits.size());
  return logits[static_cast<size_t>(target)] - LogSumExp(logits);
}

int32_t ArgMax(std::span<const float> logits) {
  GHOST_CHECK(!logits.empty());
  const float max = MaxValue(logits.data(), static_cast<int64_t>(logits.size()));
  const auto first = std::find(logits.begin(), logits.end(), max);
  return first == logits.end() ? 0 : static_cast<int32_t>(first - logits.begin());
}

double KlDivergence(std::span<const float> reference, std::span<const float> logits) {
  GHOST_CHECK(!logits.empty() && reference.size() == logits.size());
  const int64_t V = static_cast<int64_t>(logits.size());
  const float max = MaxValue(reference.data(), V);
  const double sum = SumExp(reference.data(), max, V);
  const double mean_difference = SumExpTimesDifference(reference.data(), logits.data(), max, V) / sum;
  const double divergence = mean_difference - (max + std::log(sum)) + LogSumExp(logits);
  return divergence < 0.0 ? 0.0 : divergence;  // only rounding is below 0; NaN stays
}

}  // namespace ghost
