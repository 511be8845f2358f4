// The backward attention of one key-value head of one sequence. Internal to src/kernels.
#pragma once

#include <cstdint>

#include "tensor/view.h"

namespace ghost {

// All views have the rows of the sequence. q, out and their gradients have `group` heads of d columns,
// the others one head.
struct AttentionHeadBackward {
  int d = 0, group = 0;
  float scale = 1;
  ConstView q, k, v, out, dout;
  View dq, dk, dv;  // overwritten
};

// `scratch` is aligned to 64 bytes and holds as many floats as the function beside it returns.
int64_t AttentionBackwardScratchFloats(int d, int group, int64_t length);
void AttentionBackward(const AttentionHeadBackward& in, float* scratch);

}  // namespace ghost
