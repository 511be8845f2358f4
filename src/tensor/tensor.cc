#include "tensor/tensor.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "tensor/widen_blocks.h"

namespace ghost {
namespace {

template <class T>
T LoadUnaligned(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
Tensor FromValues(DType dtype, const Shape& shape, std::span<const T> values) {
  return MakeTensor(dtype, shape, std::as_bytes(values));
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<const std::byte> data)
    : dtype_(dtype), shape_(shape), data_(std::move(data)) {
  const auto bytes = CheckedBytes(shape_, dtype_);
  GHOST_CHECK(bytes && data_ != nullptr);
  num_bytes_ = *bytes;
}

Tensor Tensor::Reshaped(Shape shape) const {
  const auto bytes = CheckedBytes(shape, dtype_);
  GHOST_CHECK(bytes && *bytes == num_bytes_);
  return Tensor(dtype_, shape, data_);
}

Tensor Tensor::Rows(int64_t first, int64_t count) const {
  GHOST_CHECK(shape_.rank() >= 1 && first >= 0 && count >= 0 && first <= shape_[0] - count);
  std::vector<int64_t> extents(shape_.dims().begin(), shape_.dims().end());
  const size_t row_bytes = shape_[0] == 0 ? 0 : num_bytes_ / static_cast<size_t>(shape_[0]);
  extents[0] = count;
  const std::byte* start = data_.get() + row_bytes * static_cast<size_t>(first);
  return Tensor(dtype_, Shape(extents), std::shared_ptr<const std::byte>(data_, start));
}

Tensor Tensor::Slice(int64_t i) const {
  GHOST_CHECK(shape_.rank() >= 2);
  const std::vector<int64_t> extents(shape_.dims().begin() + 1, shape_.dims().end());
  return Rows(i, 1).Reshaped(Shape(extents));
}

Tensor MakeTensor(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  const auto expected = CheckedBytes(shape, dtype);
  GHOST_CHECK(expected && *expected == bytes.size());
  std::shared_ptr<std::byte[]> copy(new std::byte[bytes.size() + 1]);  // never null, also when empty
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return Tensor(dtype, shape, std::shared_ptr<const std::byte>(copy, copy.get()));
}

Tensor MakeTensor(const Shape& shape, std::span<const float> v) { return FromValues(DType::kF32, shape, v); }
Tensor MakeTensor(const Shape& shape, std::span<const double> v) { return FromValues(DType::kF64, shape, v); }
Tensor MakeTensor(const Shape& shape, std::span<const int64_t> v) {
  return FromValues(DType::kI64, shape, v);
}

void WidenElements(DType dtype, const std::byte* data, int64_t first, int64_t count, float* out) {
  const DTypeInfo& info = InfoOf(dtype);
  GHOST_CHECK(first % info.block_size == 0);
  const std::byte* from = data + first / info.block_size * info.block_bytes;
  switch (dtype) {
    case DType::kF32:
      if (count > 0) std::memcpy(out, from, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) out[i] = F32FromF16(LoadUnaligned<uint16_t>(from + 2 * i));
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) out[i] = F32FromBF16(LoadUnaligned<uint16_t>(from + 2 * i));
      return;
    case DType::kF64:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(LoadUnaligned<double>(from + 8 * i));
      return;
    default:
      GHOST_CHECK(IsBlockType(dtype));
      return WidenBlocks(dtype, from, count, out);
  }
}

std::vector<float> ToFloats(const Tensor& tensor) {
  if (!IsWeightType(tensor.dtype()) && tensor.dtype() != DType::kF64) {
    throw Error(ErrorKind::kUnsupported, "tensor type is not supported for computation",
                {.expected = "F32, F16, BF16, F64 or a quantised type",
                 .actual = std::string(NameOf(tensor.dtype()))});
  }
  std::vector<float> values(static_cast<size_t>(tensor.num_elements()));
  WidenElements(tensor.dtype(), tensor.data(), 0, tensor.num_elements(), values.data());
  return values;
}

}  // namespace ghost
