// Vectorised loads, updates and roundings of stored heads, dispatched at run time to the best instruction
// set. Internal to src/kernels: ssm_scan.cc divides the work.
#pragma once

#include <cstdint>

#include "kernels/scan/ssm_scan_simd.h"
#include "kernels/scan/stored_head.h"

namespace ghost {

// Floats of scratch, aligned to 64 bytes, that StepHead and NarrowHead need.
int64_t StepScratchFloats(int N, int P);

// The token of `in`, whose length is 1 and whose state is ignored, on a state of a small type: reads, updates
// and rounds it in one pass over memory. y comes from the state before it is rounded.
void StepHead(const HeadScan& in, RoundingSeeds seeds, const StoredHead& state, float* scratch);

// (N, P) float32 values of a head, and rounding them into one.
void WidenHead(const StoredHead& head, float* values);
void NarrowHead(const float* values, RoundingSeeds seeds, const StoredHead& head, float* scratch);

}  // namespace ghost
