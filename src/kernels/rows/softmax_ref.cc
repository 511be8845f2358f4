#include <algorithm>
#include <cmath>

#include "kernels/rows/softmax.h"

namespace ghost {

double LogSumExpRef(std::span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float v : logits) sum += std::exp(v - max);
  return max + std::log(sum);
}

double KlDivergenceRef(std::span<const float> reference, std::span<const float> logits) {
  const double p_sum = LogSumExpRef(reference), q_sum = LogSumExpRef(logits);
  double divergence = 0;
  for (size_t v = 0; v < logits.size(); ++v) {
    const double log_p = reference[v] - p_sum, log_q = logits[v] - q_sum;
    if (const double p = std::exp(log_p); p > 0) divergence += p * (log_p - log_q);
  }
  return divergence;
}

}  // namespace ghost
