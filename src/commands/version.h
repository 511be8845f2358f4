// Which ghost this is.
#pragma once

#include <string>

namespace ghost {

std::string GhostVersion();
std::string GhostCommit();  // as `git describe` names it; "unknown" outside a repository

}  // namespace ghost
