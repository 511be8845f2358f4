#include "tests/support/product_tap.h"

#include <utility>

#include "base/check.h"

// The linker's option --wrap=symbol gives calls of `symbol` to __wrap_symbol and calls of __real_symbol to
// it.
#define GHOST_MATMUL_SYMBOL \
  "_ZN5ghost6MatMulENS_10MatrixViewIKfEENS_10WeightViewENS0_IfEERKNS_13MatMulOptionsE"

namespace ghost {

void RealMatMul(ConstView x, WeightView w, View y,
                const MatMulOptions& options) asm("__real_" GHOST_MATMUL_SYMBOL);
void WrappedMatMul(ConstView x, WeightView w, View y,
                   const MatMulOptions& options) asm("__wrap_" GHOST_MATMUL_SYMBOL);

namespace {
Product listener;
}

ProductTap::ProductTap(Product product) {
  GHOST_CHECK(!listener);
  listener = std::move(product);
}
ProductTap::~ProductTap() { listener = nullptr; }

void UntappedMatMul(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  RealMatMul(x, w, y, options);
}

void WrappedMatMul(ConstView x, WeightView w, View y, const MatMulOptions& options) {
  if (listener) return listener(x, w, y, options);
  RealMatMul(x, w, y, options);
}

}  // namespace ghost
