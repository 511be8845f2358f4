#include "tensor/row_plan.h"

#include <cstring>
#include <memory>

#include "base/check.h"

namespace ghost {

Tensor GatherRows(const Tensor& tensor, const RowPlan& rows) {
  std::vector<int64_t> extents(tensor.shape().dims().begin(), tensor.shape().dims().end());
  GHOST_CHECK(!extents.empty());
  const int64_t old_rows = extents[0];
  const size_t row_bytes = old_rows == 0 ? 0 : tensor.num_bytes() / static_cast<size_t>(old_rows);
  extents[0] = static_cast<int64_t>(rows.size());
  std::shared_ptr<std::byte[]> bytes(new std::byte[rows.size() * row_bytes + 1]);
  for (size_t to = 0; to < rows.size(); ++to) {
    std::byte* out = bytes.get() + to * row_bytes;
    if (rows[to] < 0) {
      std::memset(out, 0, row_bytes);
    } else {
      GHOST_CHECK(rows[to] < old_rows);
      std::memcpy(out, tensor.data() + static_cast<size_t>(rows[to]) * row_bytes, row_bytes);
    }
  }
  return Tensor(tensor.dtype(), Shape(extents), std::shared_ptr<const std::byte>(bytes, bytes.get()));
}

Tensor JoinRows(const std::vector<Tensor>& pieces, const Shape& shape) {
  GHOST_CHECK(!pieces.empty());
  const DType dtype = pieces.front().dtype();
  const size_t size = *CheckedBytes(shape, dtype);
  std::shared_ptr<std::byte[]> bytes(new std::byte[size + 1]);
  size_t at = 0;
  for (const Tensor& piece : pieces) {
    GHOST_CHECK(piece.dtype() == dtype && at + piece.num_bytes() <= size);
    std::memcpy(bytes.get() + at, piece.data(), piece.num_bytes());
    at += piece.num_bytes();
  }
  GHOST_CHECK(at == size);
  return Tensor(dtype, shape, std::shared_ptr<const std::byte>(bytes, bytes.get()));
}

}  // namespace ghost
