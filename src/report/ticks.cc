#include "report/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ghost {
namespace {

constexpr double kLargest = 1e300;  // differences stay finite

double RoundStep(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// From the last of `factors` times powers of ten at or below `low` to the first at or above `high`.
std::vector<double> LogValues(double low, double high, const std::vector<double>& factors) {
  std::vector<double> values;
  const int first = static_cast<int>(std::floor(std::log10(low))) - 1;
  for (int power = first;; ++power) {
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, power);
      if (value <= low * (1 + 1e-9)) values.clear();
      values.push_back(value);
      if (value >= high * (1 - 1e-9) && values.size() > 1) return values;
    }
  }
}

}  // namespace

double Ticks::Fraction(double value) const {
  return scale == Scale::kLog ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

std::string Ticks::Label(double value) const {
  if (scale == Scale::kLog) return fmt::format("{:.3g}", value);
  const int digits = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  if (std::fabs(value) < step / 2) value = 0;  // not -0
  return fmt::format("{:.{}f}", value, digits);
}

Ticks MakeTicks(double low, double high, int count) {
  if (!std::isfinite(low)) low = 0;
  if (!std::isfinite(high) || high <= low) high = low + 1;
  low = std::clamp(low, -kLargest, kLargest), high = std::clamp(high, -kLargest, kLargest);
  // Steps that can be counted: not lost in the digits of the values.
  high = std::max(high, low + 1e-9 * std::max(std::fabs(low), std::fabs(high)));
  Ticks ticks;
  ticks.step = RoundStep((high - low) / std::max(count, 2));
  const double first = std::floor(low / ticks.step + 1e-9), last = std::ceil(high / ticks.step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.values.push_back(i * ticks.step);
  ticks.low = ticks.values.front();
  ticks.high = ticks.values.back();
  return ticks;
}

Ticks MakeLogTicks(double low, double high, int count) {
  const auto usable = [](double v) { return std::isnormal(v) && v > 0; };
  if (!usable(low) || !usable(high) || high < low) low = 1, high = 10;
  Ticks ticks;
  ticks.scale = Scale::kLog;
  ticks.values = LogValues(low, high, {1, 2, 5});
  if (ticks.values.size() > static_cast<size_t>(2 * std::max(count, 2)))
    ticks.values = LogValues(low, high, {1});
  ticks.low = ticks.values.front();
  ticks.high = ticks.values.back();
  return ticks;
}

}  // namespace ghost
