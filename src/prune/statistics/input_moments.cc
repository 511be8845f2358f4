#include "prune/statistics/input_moments.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/matmul/matmul_backward.h"

namespace ghost {

InputMoments::InputMoments(int64_t width)
    : width_(width), chunks_(static_cast<size_t>(width * width)), products_(width * width) {}

void InputMoments::Add(ConstView rows, int64_t number) {
  GHOST_CHECK(rows.cols == width_);
  const View products(products_.data(), width_, width_);
  std::fill_n(products.data, width_ * width_, 0.0f);
  OuterAccumulate(rows, rows, products);
  chunks_.Add(number, std::span<const float>(products.data, chunks_.size()));
}

void InputMoments::Combine() {
  sums_.resize(chunks_.size());
  chunks_.Combine(sums_);
}

}  // namespace ghost
