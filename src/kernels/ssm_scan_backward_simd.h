// The backward scan of one head over one chunk. Internal to this folder: ssm_scan_backward.cc cuts the work.
#pragma once

#include <cstdint>

namespace ghost {

// Pointers stand at the first token of the chunk; strides are in floats.
struct HeadChunk {
  int length = 0;  // tokens, at most kScanChunk
  int N = 0, P = 0;
  const float *x = nullptr, *b = nullptr, *c = nullptr, *dt = nullptr, *dy = nullptr;
  int64_t x_stride = 0, b_stride = 0, c_stride = 0, dt_stride = 0, dy_stride = 0;
  float a = 0, d = 0;
  const float* state = nullptr;  // (N, P) before the first token
  float* gamma = nullptr;  // (N, P): dL/dstate after the last token, through later tokens only; becomes the
                           // same after the token before the first
  float *dx = nullptr, *ddt = nullptr;
  int64_t dx_stride = 0, ddt_stride = 0;
  float *db = nullptr, *dc = nullptr;   // (length, N): this head's share, overwritten
  double *da = nullptr, *dd = nullptr;  // one sum each, added to
};

// Floats of scratch, aligned to 64 bytes, that ScanChunkBackward wants.
int64_t ScanBackwardScratchFloats(int P);
void ScanChunkBackward(const HeadChunk& in, float* scratch);

}  // namespace ghost
