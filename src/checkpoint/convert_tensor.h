// Stored weights in another element type, one tensor at a time.
#pragma once

#include <string>

#include "io/lazy_tensor.h"

namespace ghost {

// To any weight type, rounded to nearest even; the very bytes when the type is the same. NaN stays NaN
// and infinity stays infinity, but a finite value that has no finite F16 is an Error(kUnsupported), as is
// anything a quantised type cannot hold. `name` is for messages.
Tensor ConvertTensor(const Tensor& tensor, DType dtype, const std::string& name);

// `dtype`, or Q8_0 where its blocks of 256 do not fit the rows of a matrix.
DType FittingType(DType dtype, const Shape& shape);

// The same, made when it is written. Rows that are not whole blocks are refused at once.
LazyTensor ConvertLazily(const LazyTensor& tensor, DType dtype, const std::string& name);

// GGUF holds A = -exp(A_log), the other layouts A_log. Both give F32. MakeALog refuses (kCorrupt) an A that
// is not below zero.
Tensor MakeA(const Tensor& a_log);
Tensor MakeALog(const Tensor& a, const std::string& name);

}  // namespace ghost
