// What the operating system says about this process' memory.
#pragma once

#include <cstdint>

namespace ghost {

int64_t PeakRssBytes();       // the largest resident set so far, mapped files included
int64_t AnonymousRssBytes();  // resident now and not backed by a file; 0 where the system does not tell

}  // namespace ghost
