#include "kernels/softmax.h"

#include <cmath>

#include "base/check.h"

namespace ghost {

double LogSumExp(std::span<const float> logits) {
  GHOST_CHECK(!logits.empty());
  return LogSumExpRef(logits);
}

double LogProb(std::span<const float> logits, int32_t target) {
  GHOST_CHECK(target >= 0 && static_cast<size_t>(target) < logits.size());
  return logits[static_cast<size_t>(target)] - LogSumExp(logits);
}

int32_t ArgMax(std::span<const float> logits) {
  GHOST_CHECK(!logits.empty());
  size_t best = 0;
  for (size_t v = 1; v < logits.size(); ++v) {
    if (logits[v] > logits[best] || std::isnan(logits[best])) best = v;
  }
  return std::isnan(logits[best]) ? 0 : static_cast<int32_t>(best);
}

}  // namespace ghost
