// Non-owning matrices, the argument type of the kernels. Copying a view copies no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "tensor/tensor.h"

namespace ghost {

// A float32 matrix whose rows are contiguous and `stride` floats apart (stride >= cols).
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  MatrixView() = default;
  MatrixView(T* d, int64_t r, int64_t c) : data(d), rows(r), cols(c), stride(c) {}
  MatrixView(T* d, int64_t r, int64_t c, int64_t s) : data(d), rows(r), cols(c), stride(s) {}
  // A View converts implicitly to a ConstView.
  template <class U>
  requires std::is_convertible_v<U*, T*> MatrixView(const MatrixView<U>& other)
      : data(other.data), rows(other.rows), cols(other.cols), stride(other.stride) {}

  T* Row(int64_t row) const { return data + row * stride; }
  MatrixView Rows(int64_t begin, int64_t count) const {
    GHOST_CHECK(begin >= 0 && count >= 0 && begin + count <= rows);
    return {data + begin * stride, count, cols, stride};
  }
  MatrixView Cols(int64_t begin, int64_t count) const {
    GHOST_CHECK(begin >= 0 && count >= 0 && begin + count <= cols);
    return {data + begin, rows, count, stride};
  }
};

using View = MatrixView<float>;
using ConstView = MatrixView<const float>;

// A weight matrix as stored: any weight type, row-major, rows of cols/block_size blocks without gaps, not
// necessarily aligned.
struct WeightView {
  DType dtype = DType::kF32;
  const std::byte* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;

  WeightView() = default;
  WeightView(DType t, const std::byte* d, int64_t r, int64_t c) : dtype(t), data(d), rows(r), cols(c) {}
  explicit WeightView(const Tensor& t) : WeightView(t.dtype(), t.data(), t.shape()[0], t.shape()[1]) {
    GHOST_CHECK(t.shape().rank() == 2 && IsWeightType(t.dtype()));
  }

  int64_t RowBytes() const {
    const DTypeInfo& info = InfoOf(dtype);
    return cols / info.block_size * info.block_bytes;
  }
  const std::byte* Row(int64_t row) const { return data + row * RowBytes(); }
  WeightView Rows(int64_t begin, int64_t count) const {
    GHOST_CHECK(begin >= 0 && count >= 0 && begin + count <= rows);
    return {dtype, Row(begin), count, cols};
  }
};

}  // namespace ghost
