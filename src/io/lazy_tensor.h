// A tensor that is created when it is written, so that converting a checkpoint needs memory
// for one tensor only.
#pragma once

#include <functional>
#include <utility>

#include "tensor/tensor.h"

namespace ghost {

class LazyTensor {
 public:
  LazyTensor() = default;
  LazyTensor(Tensor tensor)  // NOLINT: an existing tensor
      : dtype_(tensor.dtype()), shape_(tensor.shape()), make_([t = std::move(tensor)] { return t; }) {}
  // `make` must return a tensor of this type and shape.
  LazyTensor(DType dtype, Shape shape, std::function<Tensor()> make)
      : dtype_(dtype), shape_(shape), make_(std::move(make)) {}

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t num_bytes() const { return CheckedBytes(shape_, dtype_).value(); }
  // The same bytes under another shape of equal size.
  LazyTensor Reshaped(const Shape& shape) const {
    return LazyTensor(dtype_, shape, [make = make_, shape] { return make().Reshaped(shape); });
  }
  Tensor Make() const;  // GHOST_CHECKs type and shape

 private:
  DType dtype_ = DType::kF32;
  Shape shape_;
  std::function<Tensor()> make_;
};

}  // namespace ghost
