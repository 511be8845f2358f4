// The extents of a tensor, outermost first (row-major), at most kMaxRank of them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "tensor/dtype.h"

namespace ghost {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;  // rank 0: a scalar
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }

  int64_t NumElements() const;  // the product; GHOST_CHECKs against overflow: see CheckedBytes for file input
  std::string ToString() const;  // "(3352, 768)"

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && a.dims_ == b.dims_;  // unused entries stay 0
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// Size in bytes of a tensor of that shape and type; nullopt if an extent is negative, the product overflows,
// or the last extent is not a multiple of the block size.
std::optional<uint64_t> CheckedBytes(const Shape& shape, DType dtype);

}  // namespace ghost
