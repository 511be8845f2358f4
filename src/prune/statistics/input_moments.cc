#include "prune/statistics/input_moments.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/matmul/matmul_backward.h"

namespace ghost {

InputMoments::InputMoments(int64_t width)
    : width_(width), sums_(static_cast<size_t>(width * width), 0.0), products_(width * width) {}

void InputMoments::Add(ConstView rows) {
  GHOST_CHECK(rows.cols == width_);
  const View products(products_.data(), width_, width_);
  std::fill_n(products.data, width_ * width_, 0.0f);
  OuterAccumulate(rows, rows, products);
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += double{products.data[i]};
}

}  // namespace ghost
