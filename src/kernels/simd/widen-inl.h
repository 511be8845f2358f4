// Loads stored weights as vectors of float32, for the SIMD sources of src/kernels. Included once per
// instruction set (hence the toggling guard instead of `#pragma once`), after hwy/highway.h.
#if defined(GHOST_KERNELS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_WIDEN_INL_H_
#undef GHOST_KERNELS_WIDEN_INL_H_
#else
#define GHOST_KERNELS_WIDEN_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// Weights of type `kType` that start at `row` (any alignment). At(k) is one value, Load(d, k) the vector from
// k on. Blocks of quantised weights have kernels of their own (matmul/unpack-inl.h).
template <DType kType>
struct StoredRow;

template <>
struct StoredRow<DType::kF32> {
  const std::byte* row;
  HWY_INLINE float At(int64_t k) const {
    float value;
    std::memcpy(&value, row + k * 4, sizeof(value));
    return value;
  }
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> Load(D d, int64_t k) const {
    return hwy::HWY_NAMESPACE::LoadU(d, reinterpret_cast<const float*>(row) + k);
  }
};

template <>
struct StoredRow<DType::kBF16> {
  const std::byte* row;
  HWY_INLINE float At(int64_t k) const {
    uint16_t bits;
    std::memcpy(&bits, row + k * 2, sizeof(bits));
    return F32FromBF16(bits);
  }
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> Load(D d, int64_t k) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<uint16_t, D> d16;
    const hn::Rebind<uint32_t, D> d32;
    const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(row) + k);
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
  }
};

// Converts half-precision bit patterns to float32, exactly on every target. Without an instruction for it,
// exponent and mantissa are shifted into place and multiplied by 2^112, which is right for subnormals too.
// Infinities and NaN get their exponent explicitly, because Highway's own conversion does not guarantee them.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> FromHalfBits(
    D d, hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::Rebind<uint16_t, D>> bits16) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86 && !defined(HWY_DISABLE_F16C)
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits16));
#else
  const hn::Rebind<uint32_t, D> d32;
  const hn::Rebind<int32_t, D> di32;
  const auto bits = hn::PromoteTo(d32, bits16);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d32, 0x8000u)));
  const auto magnitude = hn::And(bits, hn::Set(d32, 0x7fffu));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto scaled = hn::BitCast(d32, hn::Mul(hn::BitCast(d, shifted), hn::Set(d, 0x1.0p112f)));
  const auto special = hn::Or(shifted, hn::Set(d32, 0x7f800000u));
  const auto is_special = hn::Gt(hn::BitCast(di32, magnitude), hn::Set(di32, 0x7bff));
  return hn::BitCast(d, hn::Or(hn::IfThenElse(hn::RebindMask(d32, is_special), special, scaled), sign));
#endif
}

template <>
struct StoredRow<DType::kF16> {
  const std::byte* row;
  HWY_INLINE float At(int64_t k) const {
    uint16_t bits;
    std::memcpy(&bits, row + k * 2, sizeof(bits));
    return F32FromF16(bits);
  }
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> Load(D d, int64_t k) const {
    const hwy::HWY_NAMESPACE::Rebind<uint16_t, D> d16;
    return FromHalfBits(d, hwy::HWY_NAMESPACE::LoadU(d16, reinterpret_cast<const uint16_t*>(row) + k));
  }
};

// out[i] = weight first + i of the row, i < count.
template <DType kType, class D>
HWY_INLINE void WidenRow(D d, StoredRow<kType> row, int64_t first, int64_t count, float* HWY_RESTRICT out) {
  namespace hn = hwy::HWY_NAMESPACE;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + L <= count; i += L) hn::StoreU(row.Load(d, first + i), d, out + i);
  for (; i < count; ++i) out[i] = row.At(first + i);
}

// Calls body with the run-time type, F32, F16 or BF16, as a compile-time constant.
template <class Body>
HWY_INLINE void DispatchType(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF16:
      return body(std::integral_constant<DType, DType::kF16>());
    case DType::kBF16:
      return body(std::integral_constant<DType, DType::kBF16>());
    default:
      return body(std::integral_constant<DType, DType::kF32>());
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_WIDEN_INL_H_
