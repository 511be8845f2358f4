// Unpacks rows of block-quantised weights for integer products with many rows of x, a row of weights per
// lane; included once per instruction set. tensor/widen_blocks.h has the formats. UnpackedBlock of a type has
//   kValues, kBytes   values and bytes of a stored block
//   kSub              consecutive values that share a scale
//   kZero             what is subtracted from the unsigned bytes
//   kMinima           whether minima are subtracted from the scaled values
//   Unpack(rows, d, sink)   for L rows of weights, L the lanes of d, hands the sink
//     sink.Quad(j, v)   values 4j .. 4j+3 of every row as unsigned bytes
//     sink.Scale(s, v)  the scale of sub-block s of every row; sink.Min(s, v) its minimum
#if defined(GHOST_KERNELS_UNPACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_UNPACK_INL_H_
#undef GHOST_KERNELS_UNPACK_INL_H_
#else
#define GHOST_KERNELS_UNPACK_INL_H_
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

using Rows = const std::byte* const*;  // where the block of each row starts

// Bytes [offset, offset + 16) of rows 0, 4, 8, ...: one per 128 bits of the vector.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadEveryFourth(D d, Rows rows, int64_t offset) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes == 4) {
    const hn::Full128<uint8_t> bytes;
    return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(rows[0] + offset)));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadEveryFourth(half, rows + kLanes / 2, offset),
                       LoadEveryFourth(half, rows, offset));
  }
}

// body(j, v) for j < 4: v holds bytes [offset + 4j, offset + 4j + 4) of every row.
template <class D, class Body>
HWY_INLINE void LoadQuads(D d, Rows rows, int64_t offset, const Body& body) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Repartition<uint64_t, D> d64;
  const auto r0 = LoadEveryFourth(d, rows, offset), r1 = LoadEveryFourth(d, rows + 1, offset);
  const auto r2 = LoadEveryFourth(d, rows + 2, offset), r3 = LoadEveryFourth(d, rows + 3, offset);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  body(0, hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)));
  body(1, hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)));
  body(2, hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)));
  body(3, hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)));
}

// `count` bytes of every row, a multiple of 16.
template <class D, class Body>
HWY_INLINE void LoadRun(D d, Rows rows, int64_t offset, int64_t count, const Body& body) {
  for (int64_t at = 0; at < count; at += 16) {
    LoadQuads(d, rows, offset + at, [&](int64_t j, auto v) HWY_ATTR { body(at / 4 + j, v); });
  }
}

// A half-precision number of every row.
template <class D>
HWY_INLINE auto LoadHalves(D, Rows rows, int64_t offset) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr size_t kLanes = hn::MaxLanes(D());
  HWY_ALIGN uint16_t bits[kLanes];
  for (size_t r = 0; r < kLanes; ++r) std::memcpy(bits + r, rows[r] + offset, sizeof(bits[r]));
  return FromHalfBits(hn::Rebind<float, D>(), hn::Load(hn::Rebind<uint16_t, D>(), bits));
}

// Four bytes per lane: their low or high halves, or the two bits from `shift` on as bits 4 and 5.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V LowHalves(D d, V v) {
  return hwy::HWY_NAMESPACE::And(v, hwy::HWY_NAMESPACE::Set(d, 0x0f0f0f0fu));
}
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V HighHalves(D d, V v) {
  return LowHalves(d, hwy::HWY_NAMESPACE::ShiftRight<4>(v));
}
template <int kShift, class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V TwoHighBits(D d, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::ShiftLeft<4>(hn::And(hn::ShiftRight<kShift>(v), hn::Set(d, 0x03030303u)));
}

template <DType kType>
struct UnpackedBlock;

template <>
struct UnpackedBlock<DType::kQ8_0> {
  static constexpr int64_t kValues = 32, kBytes = 34, kSub = 32;
  static constexpr int32_t kZero = 128;
  static constexpr bool kMinima = false;
  template <class D, class Sink>
  static HWY_INLINE void Unpack(Rows rows, D d, const Sink& sink) {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto flip = hn::Set(d, 0x80808080u);  // signed to unsigned: adds 128
    sink.Scale(0, LoadHalves(d, rows, 0));
    LoadRun(d, rows, 2, 32, [&](int64_t j, auto v) HWY_ATTR { sink.Quad(j, hn::Xor(v, flip)); });
  }
};

template <>
struct UnpackedBlock<DType::kQ4_0> {
  static constexpr int64_t kValues = 32, kBytes = 18, kSub = 32;
  static constexpr int32_t kZero = 8;
  static constexpr bool kMinima = false;
  template <class D, class Sink>
  static HWY_INLINE void Unpack(Rows rows, D d, const Sink& sink) {
    sink.Scale(0, LoadHalves(d, rows, 0));
    LoadQuads(d, rows, 2, [&](int64_t j, auto v) HWY_ATTR {
      sink.Quad(j, LowHalves(d, v));
      sink.Quad(4 + j, HighHalves(d, v));
    });
  }
};

template <>
struct UnpackedBlock<DType::kIQ4_NL> {
  static constexpr int64_t kValues = 32, kBytes = 18, kSub = 32;
  static constexpr int32_t kZero = 128;
  static constexpr bool kMinima = false;
  template <class D, class Sink>
  static HWY_INLINE void Unpack(Rows rows, D d, const Sink& sink) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Repartition<uint8_t, D> d8;
    HWY_ALIGN uint8_t values[16];
    for (int i = 0; i < 16; ++i) values[i] = static_cast<uint8_t>(kIQ4NLValues[i] + kZero);
    const auto table = hn::LoadDup128(d8, values);
    const auto look_up = [&](auto v) HWY_ATTR {
      return hn::BitCast(d, hn::TableLookupBytes(table, hn::BitCast(d8, v)));
    };
    sink.Scale(0, LoadHalves(d, rows, 0));
    LoadQuads(d, rows, 2, [&](int64_t j, auto v) HWY_ATTR {
      sink.Quad(j, look_up(LowHalves(d, v)));
      sink.Quad(4 + j, look_up(HighHalves(d, v)));
    });
  }
};

template <>
struct UnpackedBlock<DType::kQ5_0> {
  static constexpr int64_t kValues = 32, kBytes = 22, kSub = 32;
  static constexpr int32_t kZero = 16;
  static constexpr bool kMinima = false;
  template <class D, class Sink>
  static HWY_INLINE void Unpack(Rows rows, D d, const Sink& sink) {
    namespace hn = hwy::HWY_NAMESPACE;
    HWY_ALIGN uint32_t bits[hn::MaxLanes(D())];
    for (size_t r = 0; r < hn::MaxLanes(D()); ++r) std::memcpy(bits + r, rows[r] + 2, sizeof(bits[r]));
    auto fifth = hn::Load(d, bits);  // bit k belongs to value k; four of them are used at a time
    // Copies of four bits, seven apart, have bit i of copy i in byte i.
    const auto spread = [&](auto four) HWY_ATTR {
      const auto low = hn::And(four, hn::Set(d, 15u));
      const auto copies =
          hn::Or(hn::Or(low, hn::ShiftLeft<7>(low)), hn::Or(hn::ShiftLeft<14>(low), hn::ShiftLeft<21>(low)));
      return hn::ShiftLeft<4>(hn::And(copies, hn::Set(d, 0x01010101u)));
    };
    sink.Scale(0, LoadHalves(d, rows, 0));
    LoadQuads(d, rows, 6, [&](int64_t j, auto v) HWY_ATTR {
      sink.Quad(j, hn::Or(LowHalves(d, v), spread(fifth)));
      sink.Quad(4 + j, hn::Or(HighHalves(d, v), spread(hn::ShiftRight<16>(fifth))));
      fifth = hn::ShiftRight<4>(fifth);
    });
  }
};

// The scales and minima of Q4_K and Q5_K: d, dmin and twelve bytes of six-bit numbers start the block.
template <class D, class Sink>
HWY_INLINE void UnpackSixBitScales(Rows rows, D d, const Sink& sink) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<float, D> df;
  const hn::Rebind<int32_t, D> di;
  hn::Vec<D> a = hn::Zero(d), b = a, c = a;  // four bytes each
  LoadQuads(d, rows, 0, [&](int64_t j, auto v) HWY_ATTR {
    if (j == 1) a = v;
    if (j == 2) b = v;
    if (j == 3) c = v;
  });
  const auto six = hn::Set(d, 0x3f3f3f3fu), top = hn::Set(d, 0x30303030u), byte = hn::Set(d, 0xffu);
  const auto scale = LoadHalves(d, rows, 0), min = LoadHalves(d, rows, 2);
  const auto put = [&](int64_t first, auto scales, auto minima) HWY_ATTR {
    for (int64_t i = 0; i < 4; ++i) {
      const auto s = hn::ConvertTo(df, hn::BitCast(di, hn::And(scales, byte)));
      const auto m = hn::ConvertTo(df, hn::BitCast(di, hn::And(minima, byte)));
      sink.Scale(first + i, hn::Mul(scale, s));
      sink.Min(first + i, hn::Mul(min, m));
      scales = hn::ShiftRight<8>(scales);
      minima = hn::ShiftRight<8>(minima);
    }
  };
  put(0, hn::And(a, six), hn::And(b, six));
  put(4, hn::Or(LowHalves(d, c), hn::And(hn::ShiftRight<2>(a), top)),
      hn::Or(HighHalves(d, c), hn::And(hn::ShiftRight<2>(b), top)));
}

template <>
struct UnpackedBlock<DType::kQ4_K> {
  static constexpr int64_t kValues = 256, kBytes = 144, kSub = 32;
  static constexpr int32_t kZero = 0;
  static constexpr bool kMinima = true;
  template <class D, class Sink>
  static HWY_INLINE void Unpack(Rows rows, D d, const Sink& sink) {
    UnpackSixBitScales(rows, d, sink);
    for (int64_t s = 0; s < 8; s += 2) {
      LoadRun(d, rows, 16 + 16 * s, 32, [&](int64_t j, auto v) HWY_ATTR {
        sink.Quad(8 * s + j, LowHalves(d, v));
        sink.Quad(8 * s + 8 + j, HighHalves(d, v));
      });
    }
  }
};

template <>
struct UnpackedBlock<DType::kQ5_K> {
  static constexpr int64_t kValues = 256, kBytes = 176, kSub = 32;
  static constexpr int32_t kZero = 0;
  static constexpr bool kMinima = true;
  template <class D, class Sink>
  static HWY_INLINE void Unpack(Rows rows, D d, const Sink& sink) {
    namespace hn = hwy::HWY_NAMESPACE;
    constexpr size_t kLanes = hn::MaxLanes(D());
    UnpackSixBitScales(rows, d, sink);
    HWY_ALIGN uint32_t fifth[8 * kLanes];  // bit s of a byte belongs to sub-block s
    LoadRun(d, rows, 16, 32,
            [&](int64_t j, auto v) HWY_ATTR { hn::Store(v, d, fifth + static_cast<size_t>(j) * kLanes); });
    const auto one = hn::Set(d, 0x01010101u);
    for (int64_t s = 0; s < 8; s += 2) {
      LoadRun(d, rows, 48 + 16 * s, 32, [&](int64_t j, auto v) HWY_ATTR {
        uint32_t* bits = fifth + static_cast<size_t>(j) * kLanes;
        const auto high = hn::Load(d, bits);
        sink.Quad(8 * s + j, hn::Or(LowHalves(d, v), hn::ShiftLeft<4>(hn::And(high, one))));
        sink.Quad(8 * s + 8 + j,
                  hn::Or(HighHalves(d, v), hn::ShiftLeft<4>(hn::And(hn::ShiftRight<1>(high), one))));
        hn::Store(hn::ShiftRight<2>(high), d, bits);
      });
    }
  }
};

template <>
struct UnpackedBlock<DType::kQ6_K> {
  static constexpr int64_t kValues = 256, kBytes = 210, kSub = 16;
  static constexpr int32_t kZero = 32;
  static constexpr bool kMinima = false;
  template <class D, class Sink>
  static HWY_INLINE void Unpack(Rows rows, D d, const Sink& sink) {
    namespace hn = hwy::HWY_NAMESPACE;
    constexpr size_t kLanes = hn::MaxLanes(D());
    const hn::Rebind<float, D> df;
    const hn::Rebind<int32_t, D> di;
    const auto scale = LoadHalves(d, rows, 208);
    LoadQuads(d, rows, 192, [&](int64_t j, auto v) HWY_ATTR {
      for (int64_t i = 0; i < 4; ++i) {  // signed bytes, the lowest first
        const auto number = hn::ShiftRight<24>(hn::BitCast(di, hn::ShiftLeft<24>(v)));
        sink.Scale(4 * j + i, hn::Mul(scale, hn::ConvertTo(df, number)));
        v = hn::ShiftRight<8>(v);
      }
    });
    for (int64_t half = 0; half < 2; ++half) {
      HWY_ALIGN uint32_t high[8 * kLanes];
      LoadRun(d, rows, 128 + 32 * half, 32,
              [&](int64_t j, auto v) HWY_ATTR { hn::Store(v, d, high + static_cast<size_t>(j) * kLanes); });
      LoadRun(d, rows, 64 * half, 64, [&](int64_t j, auto v) HWY_ATTR {
        const auto bits = hn::Load(d, high + static_cast<size_t>(j % 8) * kLanes);
        const int64_t quad = 32 * half + j;  // j < 8: groups 0 and 2; else groups 1 and 3
        sink.Quad(quad, hn::Or(LowHalves(d, v), j < 8 ? TwoHighBits<0>(d, bits) : TwoHighBits<2>(d, bits)));
        sink.Quad(quad + 16,
                  hn::Or(HighHalves(d, v), j < 8 ? TwoHighBits<4>(d, bits) : TwoHighBits<6>(d, bits)));
      });
    }
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_UNPACK_INL_H_
