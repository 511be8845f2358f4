// Stored weights as vectors of float32, for the SIMD sources of this folder. Included once per instruction
// set (hence the toggling guard instead of `#pragma once`), after hwy/highway.h.
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
// k on; a vector of Q8_0 must not cross a block, which vectors of at most 32 lanes at multiples of it do not.
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
    namespace hn = hwy::HWY_NAMESPACE;
    // Moves exponent and mantissa into place and multiplies by 2^112: exact, subnormals included, on every
    // target; infinities and NaN get their exponent back by hand. Highway's own conversion leaves those two
    // to chance where there is no F16C.
    const hn::Rebind<uint16_t, D> d16;
    const hn::Rebind<uint32_t, D> d32;
    const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(row) + k));
#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
    (void)bits;
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(row) + k));
#else
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d32, 0x8000u)));
    const auto magnitude = hn::And(bits, hn::Set(d32, 0x7fffu));
    const auto scaled = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1.0p112f));
    const auto special = hn::Or(hn::ShiftLeft<13>(magnitude), hn::Set(d32, 0x7f800000u));
    const auto is_special =
        hn::Gt(hn::BitCast(hn::Rebind<int32_t, D>(), magnitude), hn::Set(hn::Rebind<int32_t, D>(), 0x7bff));
    const auto value = hn::IfThenElse(hn::RebindMask(d32, is_special), special, hn::BitCast(d32, scaled));
    return hn::BitCast(d, hn::Or(value, sign));
#endif
  }
};

template <>
struct StoredRow<DType::kQ8_0> {
  static constexpr int64_t kBlock = 32, kBlockBytes = 34;
  const std::byte* row;
  // F32FromF16 without its branches and without the call.
  HWY_INLINE float Scale(int64_t k) const {
    uint16_t bits;
    std::memcpy(&bits, row + k / kBlock * kBlockBytes, sizeof(bits));
    const uint32_t magnitude = bits & 0x7fffu, sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1.0p112f;
    const uint32_t value =
        magnitude > 0x7bffu ? magnitude << 13 | 0x7f800000u : std::bit_cast<uint32_t>(scaled);
    return std::bit_cast<float>(value | sign);
  }
  HWY_INLINE float At(int64_t k) const {
    int8_t value;
    std::memcpy(&value, row + k / kBlock * kBlockBytes + 2 + k % kBlock, 1);
    return Scale(k) * static_cast<float>(value);
  }
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> Load(D d, int64_t k) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<int8_t, D> d8;
    const hn::Rebind<int32_t, D> d32;
    const std::byte* values = row + k / kBlock * kBlockBytes + 2 + k % kBlock;
    const auto bytes = hn::LoadU(d8, reinterpret_cast<const int8_t*>(values));
    return hn::Mul(hn::ConvertTo(d, hn::PromoteTo(d32, bytes)), hn::Set(d, Scale(k)));
  }
};

// out[i] = weight first + i of the row, i < count.
template <DType kType, class D>
HWY_INLINE void WidenRow(D d, StoredRow<kType> row, int64_t first, int64_t count, float* HWY_RESTRICT out) {
  const int64_t L = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
  int64_t i = 0;
  for (; i + L <= count; i += L) hwy::HWY_NAMESPACE::StoreU(row.Load(d, first + i), d, out + i);
  for (; i < count; ++i) out[i] = row.At(first + i);
}

// Calls body with the run-time type as a compile-time constant.
template <class Body>
HWY_INLINE void DispatchType(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF16:
      return body(std::integral_constant<DType, DType::kF16>());
    case DType::kBF16:
      return body(std::integral_constant<DType, DType::kBF16>());
    case DType::kQ8_0:
      return body(std::integral_constant<DType, DType::kQ8_0>());
    default:
      return body(std::integral_constant<DType, DType::kF32>());
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_WIDEN_INL_H_
