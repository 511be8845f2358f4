// GHOST_CHECK finds our own bugs: no input, however hostile, may make one fail.
#pragma once

#include "base/error.h"

namespace ghost {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace ghost

// Always on: checks are at interfaces, not in inner loops. Throws Error(kInternal), which main reports.
#define GHOST_CHECK(condition)                                              \
  do {                                                                      \
    if (!(condition)) ::ghost::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)
