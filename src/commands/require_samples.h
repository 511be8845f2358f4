// What the verbs that calibrate ask of the user.
#pragma once

#include <string_view>

#include "commands/calibration_source.h"

namespace ghost {

// Error(kUsage) naming the flags when neither a text nor ids were given; `who` needs them.
void RequireSamples(const CalibrationData& data, std::string_view who);

}  // namespace ghost
