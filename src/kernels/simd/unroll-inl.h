// Loops over vectors in registers, for the SIMD sources of src/kernels; included once per instruction set.
#if defined(GHOST_KERNELS_UNROLL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_UNROLL_INL_H_
#undef GHOST_KERNELS_UNROLL_INL_H_
#else
#define GHOST_KERNELS_UNROLL_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// kCount vectors in registers. Nested members instead of an array, because compilers tend to keep arrays in
// memory.
template <class D, int kCount>
struct VectorPack {
  HWY_INLINE explicit VectorPack(D d) : vector(hwy::HWY_NAMESPACE::Zero(d)), rest(d) {}
  template <int kIndex>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D>& At() {
    if constexpr (kIndex == 0) {
      return vector;
    } else {
      return rest.template At<kIndex - 1>();
    }
  }
  hwy::HWY_NAMESPACE::Vec<D> vector;
  VectorPack<D, kCount - 1> rest;
};
template <class D>
struct VectorPack<D, 0> {
  HWY_INLINE explicit VectorPack(D) {}
};

// body(0), ..., body(kCount - 1), each with a compile-time constant.
template <int kCount, class Body>
HWY_INLINE void Unroll(const Body& body) {
  if constexpr (kCount > 0) {
    Unroll<kCount - 1>(body);
    body(std::integral_constant<int, kCount - 1>());
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_UNROLL_INL_H_
