#include "io/lazy_tensor.h"

#include "base/check.h"

namespace ghost {

Tensor LazyTensor::Make() const {
  Tensor tensor = make_();
  GHOST_CHECK(tensor.dtype() == dtype_ && tensor.shape() == shape_);
  return tensor;
}

}  // namespace ghost
