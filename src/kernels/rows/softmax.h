// Log-softmax and argmax of a row of logits, for evaluation.
#pragma once

#include <cstdint>
#include <span>

namespace ghost {

// log(sum_v exp(logits[v])): the maximum is subtracted first, exponentials are float32, their sum float64.
// `logits` must not be empty. Runs on the calling thread, like the two below.
double LogSumExp(std::span<const float> logits);
double LogSumExpRef(std::span<const float> logits);  // all in float64

// log softmax(logits)[target]; target in [0, logits.size()).
double LogProb(std::span<const float> logits, int32_t target);

// The index of the largest logit; the lowest one if several are equal. NaN never wins; 0 if all are NaN.
int32_t ArgMax(std::span<const float> logits);

}  // namespace ghost
