// The accumulators of a small matrix product, held in registers. For the SIMD sources of src/kernels;
// included once per instruction set.
#if defined(GHOST_KERNELS_SUM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_SUM_TILE_INL_H_
#undef GHOST_KERNELS_SUM_TILE_INL_H_
#else
#define GHOST_KERNELS_SUM_TILE_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// kRows x 2 vectors, kRows at most 6: twelve sums leave four of AVX2's registers for the factors. Separate
// members instead of an array, because compilers tend to keep arrays in memory.
template <class D, int kRows>
class SumTile {
 public:
  using V = hwy::HWY_NAMESPACE::Vec<D>;
  static_assert(kRows >= 1 && kRows <= 6);

  HWY_INLINE explicit SumTile(D d) {
    a00_ = a01_ = a10_ = a11_ = a20_ = a21_ = a30_ = a31_ = a40_ = a41_ = a50_ = a51_ =
        hwy::HWY_NAMESPACE::Zero(d);
  }

  // Calls body(row, first vector, second vector); the row is a compile-time constant.
  template <class Body>
  HWY_INLINE void ForEachRow(const Body& body) {
    body(0, a00_, a01_);
    if constexpr (kRows > 1) body(1, a10_, a11_);
    if constexpr (kRows > 2) body(2, a20_, a21_);
    if constexpr (kRows > 3) body(3, a30_, a31_);
    if constexpr (kRows > 4) body(4, a40_, a41_);
    if constexpr (kRows > 5) body(5, a50_, a51_);
  }

 private:
  V a00_, a01_, a10_, a11_, a20_, a21_, a30_, a31_, a40_, a41_, a50_, a51_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_SUM_TILE_INL_H_
