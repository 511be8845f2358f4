#include "kernels/simd/widen.h"

#include "kernels/simd/widen_simd.h"

namespace ghost {

void Widen(WeightView rows, float* out) {
  GHOST_CHECK(IsWeightType(rows.dtype) && rows.cols % InfoOf(rows.dtype).block_size == 0);
  const int64_t count = rows.rows * rows.cols;
  if (IsBlockType(rows.dtype)) return WidenElements(rows.dtype, rows.data, 0, count, out);
  WidenRun(rows.dtype, rows.data, count, out);
}

}  // namespace ghost
