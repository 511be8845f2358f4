#include "kernels/machine_limits.h"

namespace ghost {

MachineLimits MeasureMachineLimits() { return {1, 1, 1, 1}; }

}  // namespace ghost
