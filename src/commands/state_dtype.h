// The value of --state-dtype.
#pragma once

#include <string>

#include "kernels/scan/state_type.h"

namespace ghost {

// "f32", "bf16", "f16" or "int8"; Error(kUsage) for any other name.
StateType ParseStateType(const std::string& name);

}  // namespace ghost
