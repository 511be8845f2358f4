// Tensors made of the rows of others, by copying bytes: every element type stays exact.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace ghost {

// For each row of the result the row it comes from, or -1 for a row of zeros.
using RowPlan = std::vector<int>;

// `tensor` has one row per extent of its first axis; every row of the plan is below that.
Tensor GatherRows(const Tensor& tensor, const RowPlan& rows);

// The rows of all `pieces` behind each other, as a tensor of this shape. Pieces have one type, and together
// the bytes of the shape.
Tensor JoinRows(const std::vector<Tensor>& pieces, const Shape& shape);

}  // namespace ghost
