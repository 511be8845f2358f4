// Multiplies a matrix by one factor, or each of its columns by its own.
#pragma once

#include "tensor/view.h"

namespace ghost {

// to[t][c] = factor * from[t][c];  both (T, C). to may be from, else they do not overlap.
void ScaleRows(ConstView from, float factor, View to);

// to[t][c] = factors[c] * from[t][c];  from, to: (T, C), factors: (C). to may be from, else it overlaps
// nothing.
void ScaleColumns(ConstView from, const float* factors, View to);

}  // namespace ghost
