#include "kernels/rows/softmax_backward.h"

#include <cmath>

#include "base/check.h"
#include "kernels/rows/softmax.h"
#include "kernels/simd/row_backward_simd.h"

namespace ghost {
namespace {

// The logarithm of a sum as two floats whose sum is exact enough.
struct LogSum {
  explicit LogSum(double v) : value(v), high(static_cast<float>(v)), low(static_cast<float>(v - high)) {}
  double value;
  float high, low;
};

}  // namespace

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

double DistillationBackward(std::span<float> logits, std::span<const float> teacher, int32_t target,
                            float weight, float scale) {
  GHOST_CHECK(target >= 0 && static_cast<size_t>(target) < logits.size());
  GHOST_CHECK(teacher.size() == logits.size());
  const auto at = static_cast<size_t>(target);
  const LogSum p_sum(LogSumExp(logits)), q_sum(LogSumExp(teacher));
  const double loss = p_sum.value - logits[at], p = std::exp(-loss), q = std::exp(teacher[at] - q_sum.value);
  const DistillationRow row{.teacher = teacher.data(),
                            .shift = p_sum.high,
                            .shift_rest = p_sum.low,
                            .teacher_shift = q_sum.high,
                            .teacher_shift_rest = q_sum.low,
                            .weight = weight,
                            .scale = scale};
  const double divergence = DistillationBackwardRow(row, logits.data(), static_cast<int64_t>(logits.size()));
  logits[at] = static_cast<float>(scale * ((1.0 - weight) * std::expm1(-loss) + weight * (p - q)));
  return (1.0 - weight) * loss + weight * divergence;
}

double DistillationBackwardRef(std::span<float> logits, std::span<const float> teacher, int32_t target,
                               float weight, float scale) {
  const double p_sum = LogSumExpRef(logits), q_sum = LogSumExpRef(teacher);
  double loss = (1.0 - weight) * (p_sum - logits[static_cast<size_t>(target)]);
  for (size_t v = 0; v < logits.size(); ++v) {
    const double log_p = logits[v] - p_sum, log_q = teacher[v] - q_sum;
    const double wanted = v == static_cast<size_t>(target) ? 1.0 - weight : 0.0;
    loss += weight * std::exp(log_q) * (log_q - log_p);
    logits[v] = static_cast<float>(scale * (std::exp(log_p) - wanted - weight * std::exp(log_q)));
  }
  return loss;
}

}  // namespace ghost
