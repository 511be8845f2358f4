// GHOST_CHECK is for our own bugs: no input, however hostile, may reach a failing one.
#pragma once

#include "base/error.h"

namespace ghost {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace ghost

// Always on: the checks sit at borders, not in inner loops. Throws Error(kInternal), so that main can report
// it.
#define GHOST_CHECK(condition)                                              \
  do {                                                                      \
    if (!(condition)) ::ghost::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)
