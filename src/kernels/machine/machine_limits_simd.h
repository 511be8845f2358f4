// The measured loops of machine_limits.cc. Internal to src/kernels.
#pragma once

#include <cstdint>

namespace ghost {

// Runs a fixed number of independent multiply-adds `iterations` times; returns the number of floating-point
// operations. `sink` receives a value that depends on all of them.
double FmaLoop(int64_t iterations, float* sink);
// The sum of `count` floats, count a multiple of 256, data aligned to 64 bytes.
float SumLoop(const float* data, int64_t count);
// data[i] = scale * data[i] + offset, same conditions.
void UpdateLoop(float* data, int64_t count, float scale, float offset);

}  // namespace ghost
