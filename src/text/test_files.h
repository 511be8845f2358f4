// Locates the real tokenizers and texts, for tests and benchmarks only. They are too large for the
// repository; GHOST_SHARED names their folder, by default ../shared beside the source tree.
#pragma once

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace ghost {

// The path of a shared file; empty if it is missing.
inline std::string FindSharedFile(const std::string& name) {
  const char* folder = std::getenv("GHOST_SHARED");
  const std::string path = std::string(folder != nullptr ? folder : "../shared") + "/data/" + name;
  return FileExists(path) ? path : "";
}

}  // namespace ghost

// Skips the test if the file is missing; else declares `variable` with its path.
#define GHOST_SHARED_FILE(variable, name)                                     \
  const std::string variable = ::ghost::FindSharedFile(name);                 \
  if (variable.empty()) {                                                     \
    GTEST_SKIP() << "no data/" << (name) << " in $GHOST_SHARED or ../shared"; \
  }
