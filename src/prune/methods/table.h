// The files of methods/: each defines MethodsOf_<file>(), the rows it adds to the table. CMakeLists.txt lists
// them and generates method_files.inc, so that a new file is named in one place.
#pragma once

#include <span>

#include "prune/method.h"

namespace ghost {

#define GHOST_METHODS_OF(file) std::span<const Method> MethodsOf_##file();
#include "prune/method_files.inc"
#undef GHOST_METHODS_OF

}  // namespace ghost
