#include "kernels/optimise/schedule.h"

#include <algorithm>
#include <cmath>

namespace ghost {

double LearningRate(const Schedule& s, int64_t step) {
  if (step < s.warmup) return s.peak * static_cast<double>(step + 1) / static_cast<double>(s.warmup);
  const int64_t length = s.steps - 1 - s.warmup;
  const double done =
      length <= 0 ? 1.0 : std::min(1.0, static_cast<double>(step - s.warmup) / static_cast<double>(length));
  const double cosine = 0.5 * (1.0 + std::cos(3.14159265358979323846 * done));
  return s.peak * (s.floor + (1.0 - s.floor) * cosine);
}

}  // namespace ghost
