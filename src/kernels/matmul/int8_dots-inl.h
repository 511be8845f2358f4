// Integer products of few rows of x: weights are read as they are stored, lanes run over k; included once per
// instruction set. int8_product.h says in which order is summed.
#if defined(GHOST_KERNELS_INT8_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_INT8_DOTS_INL_H_
#undef GHOST_KERNELS_INT8_DOTS_INL_H_
#else
#define GHOST_KERNELS_INT8_DOTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/matmul/dot_blocks-inl.h"
#include "kernels/matmul/int8_activations-inl.h"
#include "kernels/matmul/unpack-inl.h"
#include "kernels/simd/prefetch.h"
#include "kernels/simd/unroll-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3_DL
// Not by an intrinsic: Highway 1.0.3 enables AVX-VNNI instead of AVX512-VNNI for this target, and compilers
// then choose an encoding that processors with AVX512-VNNI alone do not have.
template <class VS, class VB>
HWY_INLINE VS DotOfBytes(VB w, VS x, VS sum) {
  asm("%{evex%} vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
  return sum;
}
#endif

HWY_INLINE hn::Vec<DotI> AddBytes(DotBytes w, const Activation* x, hn::Vec<DotI> sum) {
  const DotI d;
#if HWY_TARGET == HWY_AVX3_DL
  const auto values = hn::LoadU(d, reinterpret_cast<const int32_t*>(x));
  return DotOfBytes(w, values, sum);
#else
  const hn::Repartition<int16_t, DotI> d16;
  const auto pairs = hn::BitCast(Dot16(), w);
  const auto even = hn::BitCast(d16, hn::And(pairs, hn::Set(Dot16(), uint16_t{255})));
  const auto odd = hn::BitCast(d16, hn::ShiftRight<8>(pairs));
  auto low = hn::Zero(d), high = hn::Zero(d);
  low = hn::ReorderWidenMulAccumulate(d, even, hn::LoadU(d16, x), low, high);
  low = hn::ReorderWidenMulAccumulate(d, odd, hn::LoadU(d16, x + kDotBytes / 2), low, high);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(low, high));
#endif
}

// Adds the stored block at w, which starts with block b of x, times kRows rows of x to `total`, kDotVectors
// vectors for each row; the last row is repeated if there are fewer.
template <DType kType, int kRows, class Totals>
HWY_INLINE void DotStoredBlock(const PackedPanel& p, const std::byte* w, int64_t b, Totals& total) {
  using Block = UnpackedBlock<kType>;
  const DotF d;
  const DotI di;
  const DotBlock<kType> block(w);
  if constexpr (Block::kMinima) {
    Unroll<kRows * kDotVectors>([&](auto index) HWY_ATTR {
      constexpr int64_t r = index() / kDotVectors, v = index() % kDotVectors;
      const float* sums_of_x = p.offsets + std::min(r, p.rows - 1) * p.blocks + b;
      DotFloats& sum = total.template At<index()>();
      sum = hn::NegMulAdd(block.Minima(v), hn::LoadU(d, sums_of_x + v * kDotLanes), sum);
    });
  }
  for (int64_t i = 0; i < Block::kValues / kBlock; ++i) {
    Unroll<kDotVectors>([&](auto v) HWY_ATTR {
      const DotBytes bytes = block.Bytes(i, v());
      const DotFloats scale = block.Scale(i, v());
      Unroll<kRows>([&](auto r) HWY_ATTR {
        const int64_t at = std::min<int64_t>(r(), p.rows - 1) * p.blocks + b + i;
        hn::Vec<DotI> sum = hn::Zero(di);
        if constexpr (!Block::kMinima) {
          sum = hn::LoadU(di, reinterpret_cast<const int32_t*>(p.offsets + at * 8 + v() * kDotLanes));
        }
        sum = AddBytes(bytes, p.values + at * kBlock + v() * kDotBytes, sum);
        const DotFloats factor = hn::Mul(scale, hn::Set(d, p.scales[at]));
        DotFloats& all = total.template At<r() * kDotVectors + v()>();
        all = hn::MulAdd(hn::ConvertTo(d, sum), factor, all);
      });
    });
  }
}

// The sum of eight lanes, in one order whether they are one vector, given twice, or two.
template <int64_t kVectors, class V>
HWY_INLINE float SumOfDot(V first, V last) {
  const hn::FixedTag<float, 4> d4;
  if constexpr (kVectors == 1) {
    return hn::GetLane(hn::SumOfLanes(d4, hn::Add(hn::LowerHalf(first), hn::UpperHalf(d4, first))));
  } else {
    return hn::GetLane(hn::SumOfLanes(d4, hn::Add(first, last)));
  }
}

// How far ahead weights are fetched. A prefetch behind the last row is harmless.
constexpr int64_t kBytesAhead = 1024;

// sums[r], kGroupWeights apart: kRows rows of x times one row of weights. Rows are read one after the other:
// short runs of several rows side by side are too much for the hardware's prefetcher.
template <DType kType, int kRows>
HWY_INLINE void DotRow(const PackedPanel& p, const std::byte* w, float* sums) {
  using Block = UnpackedBlock<kType>;
  constexpr int kVectors = static_cast<int>(kDotVectors);
  VectorPack<DotF, kRows * kVectors> total{DotF()};
  for (int64_t b = 0; b < p.blocks; b += Block::kValues / kBlock, w += Block::kBytes) {
    PrefetchBytes(w + kBytesAhead, Block::kBytes);
    DotStoredBlock<kType, kRows>(p, w, b, total);
  }
  Unroll<kRows>([&](auto r) HWY_ATTR {
    sums[r() * kGroupWeights] = SumOfDot<kDotVectors>(total.template At<r() * kVectors>(),
                                                      total.template At<(r() + 1) * kVectors - 1>());
  });
}

// `count` rows of weights from `begin` on, at most kGroupWeights.
template <DType kType, int kRows>
HWY_NOINLINE void DotRows(const PackedPanel& p, WeightView w, int64_t begin, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; ++i) DotRow<kType, kRows>(p, w.Row(begin + i), sums + i);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_INT8_DOTS_INL_H_
