// All families, each in a file of its own beside this one. A new family is that file, a line here and one in
// CMakeLists.txt.
#pragma once

#include "checkpoint/family.h"

namespace ghost {

extern const Family kMamba2Family;
extern const Family kZamba2Family;
extern const Family kGraniteFamily;
extern const Family kNemotronHFamily;
extern const Family kFalconH1Family;
extern const Family kBambaFamily;

inline constexpr const Family* kFamilies[] = {&kMamba2Family,    &kZamba2Family,   &kGraniteFamily,
                                              &kNemotronHFamily, &kFalconH1Family, &kBambaFamily};

}  // namespace ghost
