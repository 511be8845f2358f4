#include "kernels/machine_limits.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

TEST(MachineLimits, AreSane) {
  const MachineLimits limits = MeasureMachineLimits();
  EXPECT_GT(limits.fma_flops, 1e8);
  EXPECT_GT(limits.gemm_flops, 1e7);
  EXPECT_LT(limits.gemm_flops, 1.2 * limits.fma_flops);
  EXPECT_GT(limits.read_bytes_per_s, 1e8);
  EXPECT_GT(limits.update_bytes_per_s, 1e8);
  for (const auto& [name, value] : {std::pair{"fma_gflops", limits.fma_flops},
                                    {"gemm_gflops", limits.gemm_flops},
                                    {"read_gb_s", limits.read_bytes_per_s},
                                    {"update_gb_s", limits.update_bytes_per_s}}) {
    RecordProperty(name, std::to_string(value * 1e-9));
    std::printf("%s %.1f\n", name, value * 1e-9);
  }
}

}  // namespace
}  // namespace ghost
