// The loss of language modelling and its gradient, row by row.
#pragma once

#include <cstdint>
#include <span>

namespace ghost {

// Replaces a row of logits by scale * (softmax(logits) - onehot(target)), the gradient of scale * -log
// softmax(logits)[target], and returns -log softmax(logits)[target]. target in [0, logits.size()). Runs on
// the calling thread.
double SoftmaxCrossEntropyBackward(std::span<float> logits, int32_t target, float scale);
double SoftmaxCrossEntropyBackwardRef(std::span<float> logits, int32_t target, float scale);  // in float64

// The same for a row that also has another model's logits to imitate. With p = softmax(logits) and
// q = softmax(teacher), returns
//   loss = (1 - weight) * -log p[target] + weight * KL(q || p)
//   KL(q || p) = sum_v q[v] (log q[v] - log p[v])
// and replaces logits by the gradient of scale * loss:
//   scale * (p - (1 - weight) * onehot(target) - weight * q)
// Both rows have the same size; weight is in 0..1. With weight 1 and equal rows the gradient is exactly 0.
double DistillationBackward(std::span<float> logits, std::span<const float> teacher, int32_t target,
                            float weight, float scale);
double DistillationBackwardRef(std::span<float> logits, std::span<const float> teacher, int32_t target,
                               float weight, float scale);  // in float64

}  // namespace ghost
