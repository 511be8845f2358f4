// Vectorised parts of softmax.h. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// The largest value that is not NaN; -infinity if there is none.
float MaxValue(const float* values, int64_t count);
// sum exp(values[i] - max): float32 exponentials, float64 sum. No value may exceed max.
double SumExp(const float* values, float max, int64_t count);
// sum exp(values[i] - max) * (values[i] - others[i]): products float32, sum float64. No value may exceed max.
double SumExpTimesDifference(const float* values, const float* others, float max, int64_t count);

}  // namespace ghost
