#include "kernels/simd/widen_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/widen_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Once per target.
#include "kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

HWY_ATTR void WidenRunTarget(DType dtype, const std::byte* data, int64_t count, float* out) {
  const hwy::HWY_NAMESPACE::CappedTag<float, 16> d;
  DispatchType(dtype, [&](auto type) HWY_ATTR { WidenRow(d, StoredRow<type()>{data}, 0, count, out); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(WidenRunTarget);
}  // namespace

void WidenRun(DType dtype, const std::byte* data, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(WidenRunTarget)(dtype, data, count, out);
}

}  // namespace ghost
#endif  // HWY_ONCE
