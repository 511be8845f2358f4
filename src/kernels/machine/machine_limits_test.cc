#include "kernels/machine/machine_limits.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ghost {
namespace {

// No bounds and no comparisons: the two rates are measured one after the other on a busy machine, or one of
// them with a sanitizer and the other in a library without it, so either may be the larger.
TEST(MachineLimits, AreAllMeasured) {
  const MachineLimits limits = MeasureMachineLimits();
  for (const auto& [name, value] : {std::pair{"fma_gflops", limits.fma_flops},
                                    {"gemm_gflops", limits.gemm_flops},
                                    {"read_gb_s", limits.read_bytes_per_s},
                                    {"update_gb_s", limits.update_bytes_per_s}}) {
    EXPECT_TRUE(std::isfinite(value) && value > 0) << name << " " << value;
    RecordProperty(name, std::to_string(value * 1e-9));
    std::printf("%s %.1f\n", name, value * 1e-9);
  }
}

}  // namespace
}  // namespace ghost
