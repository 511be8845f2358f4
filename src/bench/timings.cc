#include "bench/timings.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace ghost {

double Timings::Best() const {
  GHOST_CHECK(!seconds.empty());
  return *std::ranges::min_element(seconds);
}

double Timings::Mean() const {
  GHOST_CHECK(!seconds.empty());
  double sum = 0.0;
  for (const double s : seconds) sum += s;
  return sum / static_cast<double>(seconds.size());
}

double Timings::Deviation() const {
  if (seconds.size() < 2) return 0.0;
  const double mean = Mean();
  double squares = 0.0;
  for (const double s : seconds) squares += (s - mean) * (s - mean);
  return std::sqrt(squares / static_cast<double>(seconds.size() - 1));
}

}  // namespace ghost
