// The best speeds this machine reaches, so that a measured speed can be given as a share of them.
#pragma once

namespace ghost {

struct MachineLimits {
  double fma_flops = 0;           // float32 multiply-adds on registers only, 2 per lane
  double gemm_flops = 0;          // the better of MatMul and OpenBLAS (one thread, scaled), 2048^3
  double read_bytes_per_s = 0;    // a sum over a buffer much larger than the caches
  double update_bytes_per_s = 0;  // x = a * x + b over the same buffer; bytes read plus bytes written
};

// Measured with the current NumThreads(); each figure is the best of several repeats. Takes about
// 2 seconds and 512 MB.
MachineLimits MeasureMachineLimits();

}  // namespace ghost
