// Log-softmax, argmax and divergence of rows of logits, for evaluation.
#pragma once

#include <cstdint>
#include <span>

namespace ghost {

// log(sum_v exp(logits[v])): the maximum is subtracted first, exponentials are float32, their sum float64.
// `logits` must not be empty. Runs on the calling thread, like those below.
double LogSumExp(std::span<const float> logits);
double LogSumExpRef(std::span<const float> logits);  // all in float64

// log softmax(logits)[target]; target in [0, logits.size()).
double LogProb(std::span<const float> logits, int32_t target);

// The index of the largest logit; the lowest one if several are equal. NaN never wins; 0 if all are NaN.
int32_t ArgMax(std::span<const float> logits);

// sum_v p[v] log(p[v] / q[v]) with p = softmax(reference) and q = softmax(logits), at least 0; both of one
// size, which is not 0. Rounding is that of LogSumExp: about 1e-6.
double KlDivergence(std::span<const float> reference, std::span<const float> logits);
double KlDivergenceRef(std::span<const float> reference, std::span<const float> logits);  // all in float64

}  // namespace ghost
