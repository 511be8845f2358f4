// Converts stored weights to float32.
#pragma once

#include "tensor/view.h"

namespace ghost {

// out: (rows, cols) contiguous. Exact for F32, F16 (subnormals included) and BF16; quantised types as
// tensor/widen_blocks.h says. Bit-identical to WidenElements. Runs on the calling thread.
void Widen(WeightView rows, float* out);

}  // namespace ghost
