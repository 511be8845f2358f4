#include "kernels/rows/squared_relu_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/squared_relu_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Once per target.
#include "kernels/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// max(v, 0), and NaN for NaN, which Highway's Max does not guarantee.
template <class D, class V>
HWY_INLINE V Positive(D d, V v) {
  return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
}

HWY_ATTR void SquaredReluRowTarget(const float* in, int64_t count, float* out) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = Positive(d, hn::LoadU(d, in + i));
    hn::StoreU(hn::Mul(v, v), d, out + i);
  });
}

HWY_ATTR void SquaredReluBackwardRowTarget(const float* in, const float* dout, int64_t count, float* din) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = Positive(d, hn::LoadU(d, in + i));
    hn::StoreU(hn::Mul(hn::LoadU(d, dout + i), hn::Add(v, v)), d, din + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(SquaredReluRowTarget);
HWY_EXPORT(SquaredReluBackwardRowTarget);
}  // namespace

void SquaredReluRow(const float* in, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(SquaredReluRowTarget)(in, count, out);
}
void SquaredReluBackwardRow(const float* in, const float* dout, int64_t count, float* din) {
  HWY_DYNAMIC_DISPATCH(SquaredReluBackwardRowTarget)(in, dout, count, din);
}

}  // namespace ghost
#endif  // HWY_ONCE
