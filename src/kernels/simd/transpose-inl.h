// Transposition in registers, for the SIMD sources of src/kernels; included once per instruction set.
#if defined(GHOST_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_TRANSPOSE_INL_H_
#undef GHOST_KERNELS_TRANSPOSE_INL_H_
#else
#define GHOST_KERNELS_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR  // HWY_SCALAR has no vectors of four
// store(c, column c of `in`) for a block of 4 x 4.
template <class Store>
HWY_INLINE void Transpose4x4(const float* in, int64_t in_stride, const Store& store) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<float, 4> d4;
  const auto r0 = hn::LoadU(d4, in), r1 = hn::LoadU(d4, in + in_stride),
             r2 = hn::LoadU(d4, in + 2 * in_stride), r3 = hn::LoadU(d4, in + 3 * in_stride);
  const auto low01 = hn::InterleaveLower(d4, r0, r1), low23 = hn::InterleaveLower(d4, r2, r3);
  const auto high01 = hn::InterleaveUpper(d4, r0, r1), high23 = hn::InterleaveUpper(d4, r2, r3);
  store(0, hn::ConcatLowerLower(d4, low23, low01));
  store(1, hn::ConcatUpperUpper(d4, low23, low01));
  store(2, hn::ConcatLowerLower(d4, high23, high01));
  store(3, hn::ConcatUpperUpper(d4, high23, high01));
}
#endif

// out[c * out_stride + r] = in[r * in_stride + c]. Finishes one row of out after the other, because all of
// them may map to the same cache set.
HWY_INLINE void TransposeBlock(const float* HWY_RESTRICT in, int64_t in_stride, int64_t rows, int64_t cols,
                               float* HWY_RESTRICT out, int64_t out_stride) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const hwy::HWY_NAMESPACE::FixedTag<float, 4> d4;
  for (; c + 4 <= cols; c += 4) {
    float* block = out + c * out_stride;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      Transpose4x4(in + r * in_stride + c, in_stride, [&](int64_t i, auto v) HWY_ATTR {
        hwy::HWY_NAMESPACE::StoreU(v, d4, block + i * out_stride + r);
      });
    }
    for (; r < rows; ++r) {
      for (int64_t i = 0; i < 4; ++i) block[i * out_stride + r] = in[r * in_stride + c + i];
    }
  }
#endif
  for (; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_TRANSPOSE_INL_H_
