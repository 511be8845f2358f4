#include "report/numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/mean.h"

namespace ghost {

bool IsShare(std::string_view metric) { return metric.starts_with("acc") || metric.starts_with("pass@"); }

std::string ShortNumber(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::fabs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return fmt::format("{:.3g}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string MeanAndSpread(const std::vector<double>& values) {
  if (values.empty()) return "";
  const double mean = Mean(values);
  if (values.size() == 1) return ShortNumber(mean);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return ShortNumber(mean) + " ± " + ShortNumber(std::sqrt(squares / static_cast<double>(values.size() - 1)));
}

std::string Percent(double share) { return fmt::format("{:.4g} %", 100 * share); }

}  // namespace ghost
