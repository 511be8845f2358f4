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

}  // namespace ghost
