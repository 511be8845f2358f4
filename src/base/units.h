// Formats numbers for people: 18.9 MB, 128.99 M.
#pragma once

#include <fmt/format.h>

#include <string>

namespace ghost {

// Decimal units, as in the tables of the literature: MB = 10^6 bytes.
inline std::string Bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} bytes", bytes);
}

inline std::string Count(double count) {
  if (count >= 1e9) return fmt::format("{:.3f} G", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.2f} M", count / 1e6);
  return fmt::format("{:.0f}", count);
}

}  // namespace ghost
