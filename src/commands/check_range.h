// Numbers in options that must be within limits.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace ghost {

// Error(kUsage) naming the flag unless low <= value <= high; NaN is outside.
inline void CheckRange(const char* flag, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorKind::kUsage, std::string("bad value of --") + flag,
              {.expected = std::to_string(static_cast<int64_t>(low)) + " to " +
                           std::to_string(static_cast<int64_t>(high)),
               .actual = std::to_string(value)});
}

}  // namespace ghost
