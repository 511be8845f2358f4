// For the checks of kernels that read and write matrices element by element.
#pragma once

#include "tensor/view.h"

namespace ghost {

inline bool SameShape(ConstView a, ConstView b) { return a.rows == b.rows && a.cols == b.cols; }

}  // namespace ghost
