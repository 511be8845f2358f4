#include "base/check.h"

#include <string>

namespace ghost {

void CheckFailed(const char* condition, const char* file, int line) {
  throw Error(ErrorKind::kInternal, std::string("internal check failed: ") + condition,
              {.file = std::string(file) + ":" + std::to_string(line),
               .hint = "this is a bug in ghost; please report it"});
}

}  // namespace ghost
