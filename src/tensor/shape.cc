#include "tensor/shape.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/checked_math.h"

namespace ghost {

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  GHOST_CHECK(dims.size() <= kMaxRank);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::NumElements() const {
  if (std::ranges::count(dims(), 0) > 0) return 0;  // (0, 2^40, 2^40) is empty, not an overflow
  uint64_t product = 1;
  for (const int64_t dim : dims()) {
    GHOST_CHECK(dim > 0);
    const auto next = CheckedMul(product, static_cast<uint64_t>(dim));
    GHOST_CHECK(next && *next <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    product = *next;
  }
  return static_cast<int64_t>(product);
}

std::string Shape::ToString() const {
  std::string text = "(";
  for (int axis = 0; axis < rank_; ++axis) text += (axis ? ", " : "") + std::to_string((*this)[axis]);
  return text + ")";
}

std::optional<uint64_t> CheckedBytes(const Shape& shape, DType dtype) {
  const DTypeInfo& info = InfoOf(dtype);
  if (std::ranges::any_of(shape.dims(), [](int64_t dim) { return dim < 0; })) return std::nullopt;
  if (std::ranges::count(shape.dims(), 0) > 0) return 0;
  uint64_t elements = 1;
  for (const int64_t dim : shape.dims()) {
    const auto next = CheckedMul(elements, static_cast<uint64_t>(dim));
    if (!next || *next > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    elements = *next;
  }
  const auto block = static_cast<uint64_t>(info.block_size);
  const uint64_t row = shape.rank() == 0 ? 1 : static_cast<uint64_t>(shape[shape.rank() - 1]);
  if (row % block != 0) return std::nullopt;
  return CheckedMul(elements / block, static_cast<uint64_t>(info.block_bytes));
}

}  // namespace ghost
