#include "report/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ghost {
namespace {

double RoundStep(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string Ticks::Label(double value) const {
  const int digits = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  if (std::fabs(value) < step / 2) value = 0;  // not -0
  return fmt::format("{:.{}f}", value, digits);
}

Ticks MakeTicks(double low, double high, int count) {
  if (!std::isfinite(low)) low = 0;
  if (!std::isfinite(high) || high <= low) high = low + 1;
  Ticks ticks;
  ticks.step = RoundStep((high - low) / std::max(count, 2));
  const double first = std::floor(low / ticks.step + 1e-9), last = std::ceil(high / ticks.step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.values.push_back(i * ticks.step);
  ticks.low = ticks.values.front();
  ticks.high = ticks.values.back();
  return ticks;
}

}  // namespace ghost
