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

// 32 vector registers instead of 16.
inline constexpr bool kManyRegisters = HWY_ARCH_X86 ? HWY_TARGET <= HWY_AVX3 : HWY_ARCH_ARM_A64 != 0;

// Rows of the largest tile: twelve are 24 sums, and every loaded vector of x serves twelve multiply-adds.
// With 16 registers six rows leave four registers for the factors.
inline constexpr int kMaxSumRows = kManyRegisters ? 12 : 6;

// kRows x 2 vectors. Separate members instead of an array, because compilers tend to keep arrays in memory.
template <class D, int kRows>
class SumTile {
 public:
  using V = hwy::HWY_NAMESPACE::Vec<D>;
  static_assert(kRows >= 1 && kRows <= 12);

  HWY_INLINE explicit SumTile(D d) {
    a00_ = a01_ = a10_ = a11_ = a20_ = a21_ = a30_ = a31_ = a40_ = a41_ = a50_ = a51_ =
        hwy::HWY_NAMESPACE::Zero(d);
    a60_ = a61_ = a70_ = a71_ = a80_ = a81_ = a90_ = a91_ = a100_ = a101_ = a110_ = a111_ = a00_;
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
    if constexpr (kRows > 6) body(6, a60_, a61_);
    if constexpr (kRows > 7) body(7, a70_, a71_);
    if constexpr (kRows > 8) body(8, a80_, a81_);
    if constexpr (kRows > 9) body(9, a90_, a91_);
    if constexpr (kRows > 10) body(10, a100_, a101_);
    if constexpr (kRows > 11) body(11, a110_, a111_);
  }

 private:
  V a00_, a01_, a10_, a11_, a20_, a21_, a30_, a31_, a40_, a41_, a50_, a51_;
  V a60_, a61_, a70_, a71_, a80_, a81_, a90_, a91_, a100_, a101_, a110_, a111_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_SUM_TILE_INL_H_
