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

// One vector of pairs (lo, hi).
template <class V>
HWY_INLINE void Rotate(V c, V s, V& lo, V& hi) {
  const V a = lo, b = hi;
  lo = hn::NegMulAdd(b, s, hn::Mul(a, c));
  hi = hn::MulAdd(a, s, hn::Mul(b, c));
}

template <class D>
HWY_INLINE void RotatePairs(D d, const float* cosines, const float* sines, float* lo, float* hi) {
  auto a = hn::LoadU(d, lo), b = hn::LoadU(d, hi);
  Rotate(hn::LoadU(d, cosines), hn::LoadU(d, sines), a, b);
  hn::StoreU(a, d, lo);
  hn::StoreU(b, d, hi);
}

HWY_ATTR void RotateHalvesTarget(const float* cosines, const float* sines, int64_t half, int64_t heads,
                                 int64_t head_dim, float* x) {
  const hn::CappedTag<float, 16> d;
  const hn::CappedTag<float, 1> d1;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t h = 0; h < heads; ++h, x += head_dim) {
    int64_t i = 0;
    for (; i + L <= half; i += L) RotatePairs(d, cosines + i, sines + i, x + i, x + half + i);
    for (; i < half; ++i) RotatePairs(d1, cosines + i, sines + i, x + i, x + half + i);
  }
}

HWY_ATTR void RotateNeighboursTarget(const float* cosines, const float* sines, int64_t half, int64_t heads,
                                     int64_t head_dim, float* x) {
  const hn::CappedTag<float, 16> d;
  const hn::CappedTag<float, 1> d1;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t h = 0; h < heads; ++h, x += head_dim) {
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; i + L <= half; i += L) {
      auto lo = hn::Zero(d), hi = lo;
      hn::LoadInterleaved2(d, x + 2 * i, lo, hi);
      Rotate(hn::LoadU(d, cosines + i), hn::LoadU(d, sines + i), lo, hi);
      hn::StoreInterleaved2(lo, hi, d, x + 2 * i);
    }
#endif
    for (; i < half; ++i) RotatePairs(d1, cosines + i, sines + i, x + 2 * i, x + 2 * i + 1);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(RotateHalvesTarget);
HWY_EXPORT(RotateNeighboursTarget);
}  // namespace

void RotateHalves(const float* cosines, const float* sines, int64_t half, int64_t heads, int64_t head_dim,
                  float* x) {
  HWY_DYNAMIC_DISPATCH(RotateHalvesTarget)(cosines, sines, half, heads, head_dim, x);
}
void RotateNeighbours(const float* cosines, const float* sines, int64_t half, int64_t heads, int64_t head_dim,
                      float* x) {
  HWY_DYNAMIC_DISPATCH(RotateNeighboursTarget)(cosines, sines, half, heads, head_dim, x);
}

}  // namespace ghost
#endif  // HWY_ONCE
