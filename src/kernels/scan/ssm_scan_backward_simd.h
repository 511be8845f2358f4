// The backward scan of one chunk of Q = kScanChunk tokens as matrix products. Internal to src/kernels:
// ssm_scan_backward.cc divides the work. Matrices with a column per token have rows of Q floats.
#pragma once

#include <cstdint>

namespace ghost {

// What the heads of a group share. Pointers point to the first token of the chunk; strides are in floats.
struct GroupChunk {
  int length = 0;  // tokens, at most Q
  int N = 0;
  const float *b = nullptr, *c = nullptr;  // rows of N
  int64_t b_stride = 0, c_stride = 0;
  float* gram = nullptr;          // (length, Q): c_t . b_s for s <= t
  float* transposed_c = nullptr;  // (N, Q)
};

struct HeadChunk {
  GroupChunk group;
  int P = 0;
  const float *x = nullptr, *dt = nullptr, *dy = nullptr;
  int64_t x_stride = 0, dt_stride = 0, dy_stride = 0;
  float a = 0, d = 0;
  const float* state = nullptr;  // (N, P) before the first token
  float* gamma = nullptr;  // (N, P): dL/dstate after the last token, through later tokens only; becomes the
                           // same after the token before the first
  float *dx = nullptr, *ddt = nullptr;
  int64_t dx_stride = 0, ddt_stride = 0;
  float* dgram = nullptr;  // (length, Q): this head's contribution, overwritten
  float *transposed_db = nullptr, *transposed_dc = nullptr;  // (N, Q): likewise, through the states
  double *da = nullptr, *dd = nullptr;                       // one sum each, added to
};

// The sums over heads: channels [first, first + count) of a group's gradients.
struct GroupGradients {
  GroupChunk group;
  int first = 0, count = 0;
  int heads = 0;
  const float *dgram = nullptr, *transposed_db = nullptr, *transposed_dc = nullptr;  // of the first head
  int64_t dgram_stride = 0, transposed_stride = 0;                                   // from head to head
  float *db = nullptr, *dc = nullptr;  // at the group's first channel, overwritten
  int64_t db_stride = 0, dc_stride = 0;
};

inline constexpr int kGradientChannels = 64;  // at most, of one GroupGradients

// `scratch` is aligned to 64 bytes and holds as many floats as the function beside it returns.
int64_t PrepareGroupScratchFloats(int N);
void PrepareGroupChunk(const GroupChunk& group, float* scratch);  // fills gram and transposed_c
int64_t ScanBackwardScratchFloats(int P);
void ScanChunkBackward(const HeadChunk& in, float* scratch);
int64_t GroupGradientsScratchFloats();
void AddGroupGradients(const GroupGradients& in, float* scratch);

}  // namespace ghost
