// Loops over rows of floats of any length, for the SIMD sources of src/kernels. Included once
// per instruction set.
#if defined(GHOST_KERNELS_VECTOR_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_VECTOR_LOOP_INL_H_
#undef GHOST_KERNELS_VECTOR_LOOP_INL_H_
#else
#define GHOST_KERNELS_VECTOR_LOOP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// Calls body(tag, i) for every vector of [0, count), then for each remaining value.
template <class Body>
HWY_INLINE void ForEachVector(int64_t count, const Body& body) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> d;
  const hn::CappedTag<float, 1> d1;
  const auto L = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + L <= count; i += L) body(d, i);
  for (; i < count; ++i) body(d1, i);
}

// to[i] = factor * from[i]; may be the same.
HWY_INLINE void ScaleRow(const float* from, float factor, int64_t count, float* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, from + i)), d, to + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_VECTOR_LOOP_INL_H_
