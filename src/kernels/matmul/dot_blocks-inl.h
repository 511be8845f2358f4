// Reads block-quantised weights for integer dot products with few rows of x, lanes over k; included once per
// instruction set. tensor/widen_blocks.h has the formats, unpack-inl.h the other facts of the types. DotBlock
// of a type, for the sub-blocks i of 32 values that a stored block has:
//   Bytes(i, v)   vector v of the values, as unsigned bytes
//   Scale(i, v)   their scales, a lane per four values
//   Minima(v)     the minima of sub-blocks, a lane each (types with minima)
#if defined(GHOST_KERNELS_DOT_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_DOT_BLOCKS_INL_H_
#undef GHOST_KERNELS_DOT_BLOCKS_INL_H_
#else
#define GHOST_KERNELS_DOT_BLOCKS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/simd/widen-inl.h"
#include "tensor/widen_blocks.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// 32 values are 32 bytes: one vector of eight lanes, or two of four where vectors are shorter.
using DotF = hwy::HWY_NAMESPACE::CappedTag<float, 8>;
using DotI = hwy::HWY_NAMESPACE::Rebind<int32_t, DotF>;
using Dot8 = hwy::HWY_NAMESPACE::Repartition<uint8_t, DotI>;
using Dot16 = hwy::HWY_NAMESPACE::Repartition<uint16_t, DotI>;
using DotFloats = hwy::HWY_NAMESPACE::Vec<DotF>;
using DotBytes = hwy::HWY_NAMESPACE::Vec<Dot8>;
constexpr int64_t kDotLanes = hwy::HWY_NAMESPACE::MaxLanes(DotF());
constexpr int64_t kDotVectors = 8 / kDotLanes;
constexpr int64_t kDotBytes = 4 * kDotLanes;

HWY_INLINE DotBytes LoadBytes(const std::byte* from) {
  return hwy::HWY_NAMESPACE::LoadU(Dot8(), reinterpret_cast<const uint8_t*>(from));
}
HWY_INLINE DotBytes AndBytes(DotBytes v, uint8_t mask) {
  return hwy::HWY_NAMESPACE::And(v, hwy::HWY_NAMESPACE::Set(Dot8(), mask));
}
HWY_INLINE DotBytes HighHalfOfBytes(DotBytes v) {
  namespace hn = hwy::HWY_NAMESPACE;
  return AndBytes(hn::BitCast(Dot8(), hn::ShiftRight<4>(hn::BitCast(Dot16(), v))), 15);
}
// The bits of `mask` after a shift to the right by kBits, then four to the left.
template <int kBits>
HWY_INLINE DotBytes BitsToTop(DotBytes v, uint8_t mask) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto low = AndBytes(hn::BitCast(Dot8(), hn::ShiftRight<kBits>(hn::BitCast(Dot16(), v))), mask);
  return hn::BitCast(Dot8(), hn::ShiftLeft<4>(hn::BitCast(Dot16(), low)));
}
// The sixteen bytes of 32 four-bit values: low halves first, then high halves.
HWY_INLINE DotBytes LoadHalfBytes(const std::byte* from, int64_t v) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kDotVectors == 1) {
    const hn::Half<Dot8> half;
    const auto bytes = hn::LoadU(half, reinterpret_cast<const uint8_t*>(from));
    const hn::Repartition<uint16_t, hn::Half<Dot8>> half16;
    const auto high = hn::BitCast(half, hn::ShiftRight<4>(hn::BitCast(half16, bytes)));
    return AndBytes(hn::Combine(Dot8(), high, bytes), 15);
  } else {
    const DotBytes bytes = LoadBytes(from);
    return v == 0 ? AndBytes(bytes, 15) : HighHalfOfBytes(bytes);
  }
}
HWY_INLINE DotFloats SetHalf(const std::byte* from) {
  namespace hn = hwy::HWY_NAMESPACE;
  uint16_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  return FromHalfBits(DotF(), hn::Set(hn::Rebind<uint16_t, DotF>(), bits));
}

template <DType kType>
struct DotBlock;

template <>
struct DotBlock<DType::kQ8_0> {
  const std::byte* block;
  HWY_INLINE explicit DotBlock(const std::byte* b) : block(b) {}
  HWY_INLINE DotBytes Bytes(int64_t, int64_t v) const {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Xor(LoadBytes(block + 2 + v * kDotBytes), hn::Set(Dot8(), uint8_t{0x80}));
  }
  HWY_INLINE DotFloats Scale(int64_t, int64_t) const { return SetHalf(block); }
};

template <>
struct DotBlock<DType::kQ4_0> {
  const std::byte* block;
  HWY_INLINE explicit DotBlock(const std::byte* b) : block(b) {}
  HWY_INLINE DotBytes Bytes(int64_t, int64_t v) const { return LoadHalfBytes(block + 2, v); }
  HWY_INLINE DotFloats Scale(int64_t, int64_t) const { return SetHalf(block); }
};

template <>
struct DotBlock<DType::kIQ4_NL> {
  const std::byte* block;
  HWY_INLINE explicit DotBlock(const std::byte* b) : block(b) {}
  HWY_INLINE DotBytes Bytes(int64_t, int64_t v) const {
    namespace hn = hwy::HWY_NAMESPACE;
    HWY_ALIGN static constexpr uint8_t kTable[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                     129, 141, 153, 166, 181, 197, 217, 241};
    static_assert(kTable[0] == kIQ4NLValues[0] + 128 && kTable[15] == kIQ4NLValues[15] + 128);
    return hn::TableLookupBytes(hn::LoadDup128(Dot8(), kTable), LoadHalfBytes(block + 2, v));
  }
  HWY_INLINE DotFloats Scale(int64_t, int64_t) const { return SetHalf(block); }
};

template <>
struct DotBlock<DType::kQ5_0> {
  const std::byte* block;
  HWY_INLINE explicit DotBlock(const std::byte* b) : block(b) {}
  HWY_INLINE DotBytes Bytes(int64_t, int64_t v) const {
    namespace hn = hwy::HWY_NAMESPACE;
    HWY_ALIGN static constexpr uint8_t kBit[32] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
                                                   1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    HWY_ALIGN static constexpr uint8_t kByte[32] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                                    2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
    const Dot8 d;
    int32_t fifth;
    std::memcpy(&fifth, block + 2, sizeof(fifth));
    const auto all = hn::BitCast(d, hn::Set(DotI(), fifth));
    const auto bit = hn::Load(d, kBit + v * kDotBytes);
    const auto spread = hn::TableLookupBytes(all, hn::Load(d, kByte + v * kDotBytes));
    const auto set = hn::Eq(hn::And(spread, bit), bit);
    return hn::Or(LoadHalfBytes(block + 6, v), hn::IfThenElseZero(set, hn::Set(d, uint8_t{16})));
  }
  HWY_INLINE DotFloats Scale(int64_t, int64_t) const { return SetHalf(block); }
};

// The eight scales and minima of Q4_K and Q5_K as floats.
struct SixBitFloats {
  HWY_ALIGN float scales[8];
  HWY_ALIGN float minima[8];
  HWY_INLINE explicit SixBitFloats(const std::byte* block) {
    uint32_t word[3], six[4];
    std::memcpy(word, block + 4, sizeof(word));
    six[0] = word[0] & 0x3f3f3f3fu;
    six[1] = (word[2] & 0x0f0f0f0fu) | (word[0] >> 2 & 0x30303030u);
    six[2] = word[1] & 0x3f3f3f3fu;
    six[3] = (word[2] >> 4 & 0x0f0f0f0fu) | (word[1] >> 2 & 0x30303030u);
    Widen(six, SetHalf(block), scales);
    Widen(six + 2, SetHalf(block + 2), minima);
  }
  static HWY_INLINE void Widen(const uint32_t* six, DotFloats factor, float* out) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<uint8_t, DotF> bytes;
    for (int64_t v = 0; v < kDotVectors; ++v) {
      const auto eight = hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(six) + v * kDotLanes);
      const auto numbers = hn::ConvertTo(DotF(), hn::PromoteTo(DotI(), eight));
      hn::Store(hn::Mul(factor, numbers), DotF(), out + v * kDotLanes);
    }
  }
  HWY_INLINE DotFloats Scale(int64_t i, int64_t) const { return hwy::HWY_NAMESPACE::Set(DotF(), scales[i]); }
  HWY_INLINE DotFloats Minima(int64_t v) const {
    return hwy::HWY_NAMESPACE::Load(DotF(), minima + v * kDotLanes);
  }
};

template <>
struct DotBlock<DType::kQ4_K> : SixBitFloats {
  const std::byte* block;
  HWY_INLINE explicit DotBlock(const std::byte* b) : SixBitFloats(b), block(b) {}
  HWY_INLINE DotBytes Bytes(int64_t i, int64_t v) const {
    const DotBytes bytes = LoadBytes(block + 16 + i / 2 * 32 + v * kDotBytes);
    return i % 2 == 0 ? AndBytes(bytes, 15) : HighHalfOfBytes(bytes);
  }
};

template <>
struct DotBlock<DType::kQ5_K> : SixBitFloats {
  const std::byte* block;
  HWY_INLINE explicit DotBlock(const std::byte* b) : SixBitFloats(b), block(b) {}
  HWY_INLINE DotBytes Bytes(int64_t i, int64_t v) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const DotBytes bytes = LoadBytes(block + 48 + i / 2 * 32 + v * kDotBytes);
    const auto fifth = hn::BitCast(Dot16(), LoadBytes(block + 16 + v * kDotBytes));
    const DotBytes one = AndBytes(hn::BitCast(Dot8(), hn::ShiftRightSame(fifth, static_cast<int>(i))), 1);
    const DotBytes high = hn::BitCast(Dot8(), hn::ShiftLeft<4>(hn::BitCast(Dot16(), one)));
    return hn::Or(i % 2 == 0 ? AndBytes(bytes, 15) : HighHalfOfBytes(bytes), high);
  }
};

template <>
struct DotBlock<DType::kQ6_K> {
  const std::byte* block;
  HWY_ALIGN float scales[16];
  HWY_INLINE explicit DotBlock(const std::byte* b) : block(b) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<int8_t, DotF> bytes;
    const DotFloats factor = SetHalf(block + 208);
    for (int64_t s = 0; s < 16; s += kDotLanes) {
      const auto stored = hn::LoadU(bytes, reinterpret_cast<const int8_t*>(block + 192 + s));
      hn::Store(hn::Mul(factor, hn::ConvertTo(DotF(), hn::PromoteTo(DotI(), stored))), DotF(), scales + s);
    }
  }
  HWY_INLINE DotBytes Bytes(int64_t i, int64_t v) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const int64_t half = i / 4, group = i % 4;
    const DotBytes low = LoadBytes(block + half * 64 + group % 2 * 32 + v * kDotBytes);
    const DotBytes bits = LoadBytes(block + 128 + half * 32 + v * kDotBytes);
    const DotBytes high = group == 0   ? BitsToTop<0>(bits, 3)
                          : group == 1 ? BitsToTop<2>(bits, 3)
                          : group == 2 ? BitsToTop<4>(bits, 3)
                                       : BitsToTop<6>(bits, 3);
    return hn::Or(group < 2 ? AndBytes(low, 15) : HighHalfOfBytes(low), high);
  }
  HWY_INLINE DotFloats Scale(int64_t i, int64_t v) const {
    namespace hn = hwy::HWY_NAMESPACE;
    if constexpr (kDotVectors == 1) {  // sixteen values, four lanes, have a scale
      const hn::Half<DotF> half;
      return hn::Combine(DotF(), hn::Set(half, scales[2 * i + 1]), hn::Set(half, scales[2 * i]));
    } else {
      return hn::Set(DotF(), scales[2 * i + v]);
    }
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_DOT_BLOCKS_INL_H_
