#include "commands/require_samples.h"

#include "base/error.h"

namespace ghost {

void RequireSamples(const CalibrationData& data, std::string_view who) {
  if (!data.samples.empty()) return;
  throw Error(ErrorKind::kUsage, std::string(who) + " needs calibration data",
              {.hint = "give --calibration FILE or --input ids.safetensors"});
}

}  // namespace ghost
