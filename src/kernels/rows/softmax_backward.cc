#include "kernels/rows/softmax_backward.h"

#include <cmath>

#include "base/check.h"
#include "kernels/rows/softmax.h"
#include "kernels/simd/row_backward_simd.h"

namespace ghost {

double SoftmaxCrossEntropyBackward(std::span<float> logits, int32_t target, float scale) {
  GHOST_CHECK(target >= 0 && static_cast<size_t>(target) < logits.size());
  const double log_sum = LogSumExp(logits);
  float& wanted = logits[static_cast<size_t>(target)];
  const double loss = log_sum - wanted;
  // Float32 cannot hold log_sum exactly; its rounding error goes into the factor.
  const auto shift = static_cast<float>(log_sum);
  const auto factor = static_cast<float>(scale * std::exp(shift - log_sum));
  ScaledExpRow(logits.data(), shift, factor, static_cast<int64_t>(logits.size()));
  // Not computed by subtracting scale from the entry: the two would cancel when the probability is near 1.
  wanted = static_cast<float>(scale * std::expm1(-loss));
  return loss;
}

double SoftmaxCrossEntropyBackwardRef(std::span<float> logits, int32_t target, float scale) {
  const double log_sum = LogSumExpRef(logits);
  const double loss = log_sum - logits[static_cast<size_t>(target)];
  for (float& v : logits) v = static_cast<float>(scale * std::exp(v - log_sum));
  logits[static_cast<size_t>(target)] = static_cast<float>(scale * std::expm1(-loss));
  return loss;
}

}  // namespace ghost
