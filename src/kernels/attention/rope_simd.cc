#include "kernels/attention/rope_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/rope_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// One vector of pairs.
template <class D>
HWY_INLINE void RotatePairs(D d, const float* cosines, const float* sines, float* lo, float* hi) {
  const auto c = hn::LoadU(d, cosines), s = hn::LoadU(d, sines), a = hn::LoadU(d, lo), b = hn::LoadU(d, hi);
  hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, lo);
  hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), d, hi);
}

HWY_ATTR void RotateRowTarget(const float* cosines, const float* sines, int64_t half, int64_t heads,
                              float* x) {
  const hn::CappedTag<float, 16> d;
  const hn::CappedTag<float, 1> d1;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t h = 0; h < heads; ++h, x += 2 * half) {
    int64_t i = 0;
    for (; i + L <= half; i += L) RotatePairs(d, cosines + i, sines + i, x + i, x + half + i);
    for (; i < half; ++i) RotatePairs(d1, cosines + i, sines + i, x + i, x + half + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(RotateRowTarget);
}  // namespace

void RotateRow(const float* cosines, const float* sines, int64_t half, int64_t heads, float* x) {
  HWY_DYNAMIC_DISPATCH(RotateRowTarget)(cosines, sines, half, heads, x);
}

}  // namespace ghost
#endif  // HWY_ONCE
