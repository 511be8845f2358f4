// A tensor in a file or in memory: type, shape and shared, immutable, row-major bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace ghost {

// A value: copies share the bytes. The bytes may be part of a memory-mapped file, which stays mapped as long
// as any tensor points into it. They need not be aligned to the element size, because safetensors does not
// guarantee it. Threads may share a Tensor for reading.
class Tensor {
 public:
  Tensor() = default;  // empty() is true: no tensor
  // `data` must hold CheckedBytes(shape, dtype) bytes.
  Tensor(DType dtype, Shape shape, std::shared_ptr<const std::byte> data);

  bool empty() const { return data_ == nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const std::byte* data() const { return data_.get(); }
  size_t num_bytes() const { return num_bytes_; }
  int64_t num_elements() const { return shape_.NumElements(); }
  std::span<const std::byte> bytes() const { return {data_.get(), num_bytes_}; }

  // The same bytes under another shape of equal size.
  Tensor Reshaped(Shape shape) const;
  // Entries [first, first + count) of the first axis; the same bytes. Rank 1 or more; rows are whole blocks.
  Tensor Rows(int64_t first, int64_t count) const;
  // Entry i of the first axis, one dimension less; the same bytes. Rank 2 or more.
  Tensor Slice(int64_t i) const;

 private:
  DType dtype_ = DType::kF32;
  Shape shape_;
  std::shared_ptr<const std::byte> data_;
  size_t num_bytes_ = 0;
};

// A tensor that owns a copy of `values`.
Tensor MakeTensor(const Shape& shape, std::span<const float> values);
Tensor MakeTensor(const Shape& shape, std::span<const double> values);
Tensor MakeTensor(const Shape& shape, std::span<const int64_t> values);
Tensor MakeTensor(DType dtype, const Shape& shape, std::span<const std::byte> bytes);

// All values widened to float32: exactly for F32, F16 and BF16, by rounding for F64, as widen_blocks.h says
// for quantised types. Other types throw an Error.
std::vector<float> ToFloats(const Tensor& tensor);

// Widens `count` values of a weight type, starting at element `first` (a multiple of the
// block size), into `out`.
void WidenElements(DType dtype, const std::byte* data, int64_t first, int64_t count, float* out);

}  // namespace ghost
