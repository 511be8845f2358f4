// Vectorised widening of consecutive F32, F16 or BF16 weights. Internal to src/kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace ghost {

void WidenRun(DType dtype, const std::byte* data, int64_t count, float* out);

}  // namespace ghost
