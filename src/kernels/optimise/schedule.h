// The learning rate over a run: linear warm-up, then a cosine down to a floor.
#pragma once

#include <cstdint>

namespace ghost {

struct Schedule {
  double peak = 1e-3;
  double floor = 0.1;    // of the peak, reached with the last step
  int64_t warmup = 100;  // steps
  int64_t steps = 1000;
};

// For step 0, 1, ...: peak * (step + 1) / warmup during the warm-up, afterwards between peak and floor *
// peak.
double LearningRate(const Schedule& schedule, int64_t step);

}  // namespace ghost
