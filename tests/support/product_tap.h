// Lets a test see and replace every product with weights that a forward pass computes. The engine has no hook
// for this: the test program is linked so that calls of MatMul arrive in product_tap.cc
// (tests/CMakeLists.txt).
#pragma once

#include <functional>

#include "kernels/matmul/matmul.h"

namespace ghost {

using Product = std::function<void(ConstView x, WeightView w, View y, const MatMulOptions& options)>;

// While it lives, `product` runs instead of MatMul, in the order and on the thread of the calls. One at a
// time.
class ProductTap {
 public:
  explicit ProductTap(Product product);
  ~ProductTap();
  ProductTap(const ProductTap&) = delete;
  ProductTap& operator=(const ProductTap&) = delete;
};

// MatMul itself, whoever listens.
void UntappedMatMul(ConstView x, WeightView w, View y, const MatMulOptions& options);

}  // namespace ghost
