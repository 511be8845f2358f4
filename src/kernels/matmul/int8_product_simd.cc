#include "kernels/matmul/int8_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/matmul/activation_blocks.h"
#include "kernels/simd/prefetch.h"

// One target more than in other files: AVX-512 with dot products of bytes (VNNI).
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/int8_product_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Once per target.
#include "kernels/matmul/int8_activations-inl.h"
#include "kernels/matmul/int8_dots-inl.h"
#include "kernels/matmul/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DU = hn::Rebind<uint32_t, DF>;
using VU = hn::Vec<DU>;

constexpr int kVectors = kGroupWeights / kGroupLanes;  // per group

// ---- Unpacked weights: a group of rows

#if HWY_TARGET == HWY_AVX3_DL
HWY_INLINE void StoreQuad(VU v, uint32_t* out) { hn::Store(v, DU(), out); }
#else
// Widened: even bytes in one vector of 16-bit numbers, odd ones in another. Activations have the same order.
HWY_INLINE void StoreQuad(VU v, uint32_t* out) {
  const DU d;
  const VU low = hn::Set(d, 0x00ff00ffu);
  hn::Store(hn::And(v, low), d, out);
  hn::Store(hn::And(hn::ShiftRight<8>(v), low), d, out + kGroupWeights);
}
#endif

struct Group {
  uint32_t* steps;  // (blocks of 32, kSteps, kGroupWeights)
  float* scales;    // (sub-blocks, kGroupWeights)
  float* minima;    // (blocks of 32, kGroupWeights)
  float* sums;      // (kInt8PanelRows, kGroupWeights): products of one panel
};

constexpr int64_t kBlockWords = kSteps * kGroupWeights;

int64_t Int8ScratchFloatsTarget(int64_t K) {
  return K / kBlock * (kBlockWords + 3 * kGroupWeights) + kInt8PanelRows * kGroupWeights;
}

// Where the unpacked block of kGroupLanes rows goes.
struct Sink {
  uint32_t* steps;
  float* scales;
  float* minima;
  HWY_INLINE void Quad(int64_t j, VU v) const { StoreQuad(v, steps + 4 / kStepValues * j * kGroupWeights); }
  HWY_INLINE void Scale(int64_t s, VF v) const { hn::Store(v, DF(), scales + s * kGroupWeights); }
  HWY_INLINE void Min(int64_t s, VF v) const { hn::Store(v, DF(), minima + s * kGroupWeights); }
};

// Rows past the end of w repeat its last one; their products are not stored.
template <DType kType>
HWY_INLINE void UnpackGroup(WeightView w, int64_t first, const Group& group) {
  using Block = UnpackedBlock<kType>;
  const int64_t row_bytes = w.RowBytes(), blocks = w.cols / Block::kValues;
  const std::byte* rows[kGroupWeights];
  for (int64_t r = 0; r < kGroupWeights; ++r) rows[r] = w.Row(std::min(first + r, w.rows - 1));
  const bool more = first + 2 * kGroupWeights <= w.rows;  // the next group is fetched meanwhile
  const std::byte* next = w.Row(first) + kGroupWeights * row_bytes;
  for (int64_t b = 0; b < blocks; ++b) {
    constexpr int64_t kGroupBytes = kGroupWeights * Block::kBytes;
    if (more) PrefetchBytes(next + b * kGroupBytes, kGroupBytes);
    for (int64_t c = 0; c < kVectors; ++c) {
      const int64_t block = b * (Block::kValues / kBlock), sub = b * (Block::kValues / Block::kSub);
      Block::Unpack(rows + c * kGroupLanes, DU(),
                    Sink{group.steps + block * kBlockWords + c * kGroupLanes,
                         group.scales + sub * kGroupWeights + c * kGroupLanes,
                         group.minima + block * kGroupWeights + c * kGroupLanes});
    }
    for (const std::byte*& row : rows) row += Block::kBytes;
  }
}

// ---- Products

#if HWY_TARGET == HWY_AVX3_DL
// Adds the products of four unsigned bytes of w and the four signed bytes at x, in every lane.
HWY_INLINE VI AddStep(VU w, const std::byte* x, VI sum) {
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "m"(*reinterpret_cast<const int32_t*>(x)));
  return sum;
}
#else
HWY_INLINE VI AddStep(VU w, const std::byte* from, VI sum) {
  const DI di;
  int32_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  const VI x = hn::Set(di, bits);
  const hn::Repartition<int16_t, DI> d16;
  VI even = hn::Zero(di), odd = hn::Zero(di);
  even = hn::ReorderWidenMulAccumulate(di, hn::BitCast(d16, w), hn::BitCast(d16, x), even, odd);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(even, odd));
}
#endif

// totals[r] += the products of block b for kRows rows of the panel from t on.
template <int64_t kSub, bool kMinima, int kRows>
HWY_INLINE void MultiplyBlock(const PackedPanel& p, const Group& group, int64_t b, int64_t t,
                              VF (&totals)[kRows][kVectors]) {
  const DF d;
  const DI di;
  constexpr int64_t kSubs = kBlock / kSub;
  const int64_t at = b * p.rows + t;
  const std::byte* x = reinterpret_cast<const std::byte*>(p.values + at * kBlock);
  const uint32_t* w = group.steps + b * kBlockWords;
  const float* offsets = p.offsets + at * kSubs;
  for (int64_t sub = 0; sub < kSubs; ++sub) {
    VI sums[kRows][kVectors];
    for (int r = 0; r < kRows; ++r) {
      const int32_t start = kMinima ? 0 : std::bit_cast<int32_t>(offsets[r * kSubs + sub]);
      for (int c = 0; c < kVectors; ++c) sums[r][c] = hn::Set(di, start);
    }
    for (int64_t step = 0; step < kSteps / kSubs; ++step, x += 4, w += kGroupWeights) {
      for (int c = 0; c < kVectors; ++c) {
        const VU weights = hn::Load(DU(), w + c * kGroupLanes);
        for (int r = 0; r < kRows; ++r) sums[r][c] = AddStep(weights, x + r * kSteps * 4, sums[r][c]);
      }
    }
    for (int c = 0; c < kVectors; ++c) {
      const VF scale = hn::Load(d, group.scales + (b * kSubs + sub) * kGroupWeights + c * kGroupLanes);
      for (int r = 0; r < kRows; ++r) {
        if constexpr (kMinima) {
          const VF min = hn::Load(d, group.minima + b * kGroupWeights + c * kGroupLanes);
          totals[r][c] = hn::NegMulAdd(min, hn::Set(d, offsets[r]), totals[r][c]);
        }
        const VF factor = hn::Mul(scale, hn::Set(d, p.scales[at + r]));
        totals[r][c] = hn::MulAdd(hn::ConvertTo(d, sums[r][c]), factor, totals[r][c]);
      }
    }
  }
}

// group.sums[t + r] = the products of kRows rows of the panel from t on, kept in registers meanwhile.
template <int64_t kSub, bool kMinima, int kRows>
HWY_INLINE void MultiplyRows(const PackedPanel& p, const Group& group, int64_t t) {
  const DF d;
  VF totals[kRows][kVectors];
  for (auto& row : totals) {
    for (VF& total : row) total = hn::Zero(d);
  }
  for (int64_t b = 0; b < p.blocks; ++b) MultiplyBlock<kSub, kMinima, kRows>(p, group, b, t, totals);
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kVectors; ++c) {
      hn::Store(totals[r][c], d, group.sums + (t + r) * kGroupWeights + c * kGroupLanes);
    }
  }
}

constexpr int kRowsAtOnce = 8 / kVectors;

// Instantiated by what types have in common, not by type.
template <int64_t kSub, bool kMinima>
HWY_NOINLINE void MultiplyPanel(const PackedPanel& p, const Group& group) {
  int64_t t = 0;
  for (; t + kRowsAtOnce <= p.rows; t += kRowsAtOnce) MultiplyRows<kSub, kMinima, kRowsAtOnce>(p, group, t);
  for (; t < p.rows; ++t) MultiplyRows<kSub, kMinima, 1>(p, group, t);
}

// y = the sums with the factors and terms that the options request, for `count` weights from o on.
HWY_INLINE void StoreSums(const float* sums, float* y, const MatMulOptions& options, int64_t o,
                          int64_t count) {
  const DF d;
  int64_t i = 0;
  for (; i + kGroupLanes <= count; i += kGroupLanes) {
    VF sum = hn::LoadU(d, sums + i);
    if (options.scale) sum = hn::Mul(sum, hn::LoadU(d, options.scale + o + i));
    if (options.bias) sum = hn::Add(sum, hn::LoadU(d, options.bias + o + i));
    if (options.accumulate) sum = hn::Add(sum, hn::LoadU(d, y + o + i));
    hn::StoreU(sum, d, y + o + i);
  }
  for (; i < count; ++i) {
    float sum = sums[i];
    if (options.scale) sum *= options.scale[o + i];
    if (options.bias) sum += options.bias[o + i];
    y[o + i] = options.accumulate ? y[o + i] + sum : sum;
  }
}

template <DType kType>
constexpr PackFacts FactsOf(int64_t T) {
  using Block = UnpackedBlock<kType>;
  return {T <= kMaxInt8DotRows, Block::kSub, Block::kZero, Block::kMinima};
}

template <DType kType>
HWY_ATTR void MultiplyGroups(float* packed, WeightView w, View y, const MatMulOptions& options, int64_t begin,
                             int64_t end, float* scratch) {
  using Block = UnpackedBlock<kType>;
  const int64_t T = y.rows, K = w.cols, blocks = K / kBlock;
  Group group;
  group.sums = scratch;
  group.steps = reinterpret_cast<uint32_t*>(group.sums + kInt8PanelRows * kGroupWeights);
  group.scales = reinterpret_cast<float*>(group.steps + blocks * kBlockWords);
  group.minima = group.scales + 2 * blocks * kGroupWeights;
  for (int64_t o = begin; o < end; o += kGroupWeights) {
    UnpackGroup<kType>(w, o, group);
    for (int64_t first = 0; first < T; first += kInt8PanelRows) {
      const PackedPanel p = ViewPanel(packed, T, K, first / kInt8PanelRows, FactsOf<kType>(T));
      MultiplyPanel<Block::kSub, Block::kMinima>(p, group);
      for (int64_t t = 0; t < p.rows; ++t) {
        StoreSums(group.sums + t * kGroupWeights, y.Row(first + t), options, o,
                  std::min(kGroupWeights, end - o));
      }
    }
  }
}

template <DType kType>
HWY_ATTR void MultiplyDots(float* packed, WeightView w, View y, const MatMulOptions& options, int64_t begin,
                           int64_t end) {
  const PackedPanel p = ViewPanel(packed, y.rows, w.cols, 0, FactsOf<kType>(y.rows));
  float sums[kGroupWeights * kMaxInt8DotRows];
  for (int64_t o = begin; o < end; o += kGroupWeights) {
    const int64_t count = std::min(kGroupWeights, end - o);
    if (p.rows == 1) {
      DotRows<kType, 1>(p, w, o, count, sums);
    } else {
      DotRows<kType, kMaxInt8DotRows>(p, w, o, count, sums);
    }
    for (int64_t t = 0; t < p.rows; ++t) StoreSums(sums + t * kGroupWeights, y.Row(t), options, o, count);
  }
}

template <class Body>
HWY_INLINE void DispatchBlockType(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kQ4_0:
      return body(std::integral_constant<DType, DType::kQ4_0>());
    case DType::kQ5_0:
      return body(std::integral_constant<DType, DType::kQ5_0>());
    case DType::kQ4_K:
      return body(std::integral_constant<DType, DType::kQ4_K>());
    case DType::kQ5_K:
      return body(std::integral_constant<DType, DType::kQ5_K>());
    case DType::kQ6_K:
      return body(std::integral_constant<DType, DType::kQ6_K>());
    case DType::kIQ4_NL:
      return body(std::integral_constant<DType, DType::kIQ4_NL>());
    default:
      return body(std::integral_constant<DType, DType::kQ8_0>());
  }
}

HWY_ATTR void PackInt8PanelTarget(ConstView x, int64_t panel, DType weights, float* packed) {
  DispatchBlockType(weights,
                    [&](auto type) HWY_ATTR { PackPanel(x, panel, FactsOf<type()>(x.rows), packed); });
}

HWY_ATTR void MatMulInt8Target(float* packed, WeightView w, View y, const MatMulOptions& options,
                               int64_t begin, int64_t end, float* scratch) {
  DispatchBlockType(w.dtype, [&](auto type) HWY_ATTR {
    if (y.rows <= kMaxInt8DotRows) {
      MultiplyDots<type()>(packed, w, y, options, begin, end);
    } else {
      MultiplyGroups<type()>(packed, w, y, options, begin, end, scratch);
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(PackedInt8FloatsTarget);
HWY_EXPORT(PackInt8PanelTarget);
HWY_EXPORT(Int8ScratchFloatsTarget);
HWY_EXPORT(MatMulInt8Target);
}  // namespace

int64_t PackedInt8Floats(int64_t T, int64_t K) { return HWY_DYNAMIC_DISPATCH(PackedInt8FloatsTarget)(T, K); }
void PackInt8Panel(ConstView x, int64_t panel, DType weights, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackInt8PanelTarget)(x, panel, weights, packed);
}
int64_t Int8ScratchFloats(int64_t K) { return HWY_DYNAMIC_DISPATCH(Int8ScratchFloatsTarget)(K); }
void MatMulInt8(float* packed, WeightView w, View y, const MatMulOptions& options, int64_t begin, int64_t end,
                float* scratch) {
  HWY_DYNAMIC_DISPATCH(MatMulInt8Target)(packed, w, y, options, begin, end, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
