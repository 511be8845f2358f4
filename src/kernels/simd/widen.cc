#include "kernels/simd/widen.h"

#include "kernels/simd/widen_simd.h"

namespace ghost {

void Widen(WeightView rows, float* out) {
  GHOST_CHECK(IsWeightType(rows.dtype) && rows.cols % InfoOf(rows.dtype).block_size == 0);
  WidenRun(rows.dtype, rows.data, rows.rows * rows.cols, out);
}

}  // namespace ghost
