// SiLU and its slope on vectors, for the SIMD sources of src/kernels; included once per instruction set.
#if defined(GHOST_KERNELS_SILU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_SILU_INL_H_
#undef GHOST_KERNELS_SILU_INL_H_
#else
#define GHOST_KERNELS_SILU_INL_H_
#endif

#include <hwy/highway.h>
// After highway.h.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// v / (1 + exp(-v)); exactly 0 at 0. Highway's Exp is not meant for arguments beyond the float32 range: below
// v = -88 the result is |v| * 6e-39 instead of an even smaller value.
template <class D, class V>
HWY_INLINE V Silu(D d, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V e = hn::Exp(d, hn::Min(hn::Neg(v), hn::Set(d, 88.0f)));
  return hn::Div(v, hn::Add(hn::Set(d, 1.0f), e));
}

// 1 / (1 + exp(-v)), with the same limit.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V e = hn::Exp(d, hn::Min(hn::Neg(v), hn::Set(d, 88.0f)));
  return hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Set(d, 1.0f), e));
}

// SiLU'(v) from v and s = Sigmoid(v).
template <class D, class V>
HWY_INLINE V SiluSlope(D d, V v, V s) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::MulAdd(hn::Mul(v, s), hn::Sub(hn::Set(d, 1.0f), s), s);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_SILU_INL_H_
