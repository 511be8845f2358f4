// The vectorised scan of one head, dispatched at run time to the best instruction set. Internal to
// src/kernels: ssm_scan.cc divides the work.
#pragma once

#include <cstdint>

namespace ghost {

// One head of one sequence. Pointers point to its first token; strides are in floats.
struct HeadScan {
  int64_t length = 0;  // tokens
  int N = 0, P = 0;
  const float *x = nullptr, *b = nullptr, *c = nullptr, *dt = nullptr;
  int64_t x_stride = 0, b_stride = 0, c_stride = 0, dt_stride = 0;
  float a = 0, d = 0;
  float* state = nullptr;  // (N, P)
  float* y = nullptr;
  int64_t y_stride = 0;
  double* output_energy = nullptr;  // (N), may be null
  double* state_energy = nullptr;   // (N), may be null
};

// Floats of scratch, aligned to 64 bytes, that ScanHead needs for N state channels.
int64_t ScanScratchFloats(int N);
void ScanHead(const HeadScan& in, float* scratch);

// out[i] = clamp(softplus(raw[i] + bias[i])) for one row.
void SoftplusClampRow(const float* raw, const float* bias, float low, float high, int64_t count, float* out);

}  // namespace ghost
