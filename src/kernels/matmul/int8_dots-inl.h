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

// total[r] += the stored block at w, which starts with block b of x, times kRows rows of x; the last one is
// repeated if there are fewer.
template <DType kType, int kRows>
HWY_INLINE void DotStoredBlock(const PackedPanel& p, const std::byte* w, int64_t b,
                               DotFloats (&total)[kRows][kDotVectors]) {
  using Block = UnpackedBlock<kType>;
  const DotF d;
  const DotI di;
  const DotBlock<kType> block(w);
  if constexpr (Block::kMinima) {
    for (int r = 0; r < kRows; ++r) {
      const float* sums_of_x = p.offsets + std::min<int64_t>(r, p.rows - 1) * p.blocks + b;
      for (int64_t v = 0; v < kDotVectors; ++v) {
        total[r][v] = hn::NegMulAdd(block.Minima(v), hn::LoadU(d, sums_of_x + v * kDotLanes), total[r][v]);
      }
    }
  }
  for (int64_t i = 0; i < Block::kValues / kBlock; ++i) {
    for (int64_t v = 0; v < kDotVectors; ++v) {
      const DotBytes bytes = block.Bytes(i, v);
      const DotFloats scale = block.Scale(i, v);
      for (int r = 0; r < kRows; ++r) {
        const int64_t at = std::min<int64_t>(r, p.rows - 1) * p.blocks + b + i;
        hn::Vec<DotI> sum = hn::Zero(di);
        if constexpr (!Block::kMinima) {
          sum = hn::LoadU(di, reinterpret_cast<const int32_t*>(p.offsets + at * 8 + v * kDotLanes));
        }
        sum = AddBytes(bytes, p.values + at * kBlock + v * kDotBytes, sum);
        const DotFloats factor = hn::Mul(scale, hn::Set(d, p.scales[at]));
        total[r][v] = hn::MulAdd(hn::ConvertTo(d, sum), factor, total[r][v]);
      }
    }
  }
}

// In the order that eight lanes have, however many vectors they take.
template <int64_t kCount>
HWY_INLINE float SumOfDot(const DotFloats (&total)[kCount]) {
  const hn::FixedTag<float, 4> d4;
  if constexpr (kCount == 1) {
    return hn::GetLane(hn::SumOfLanes(d4, hn::Add(hn::LowerHalf(total[0]), hn::UpperHalf(d4, total[0]))));
  } else {
    return hn::GetLane(hn::SumOfLanes(d4, hn::Add(total[0], total[kCount - 1])));
  }
}

// sums[r][i], rows kGroupWeights apart: kRows rows of x times kWeights rows of weights, the last one repeated
// if there are fewer than that.
template <DType kType, int kRows, int kWeights>
HWY_INLINE void DotRow(const PackedPanel& p, const std::byte* const (&w)[kWeights], float* sums) {
  using Block = UnpackedBlock<kType>;
  DotFloats total[kWeights][kRows][kDotVectors];
  for (auto& weight : total) {
    for (auto& row : weight) {
      for (DotFloats& sum : row) sum = hn::Zero(DotF());
    }
  }
  int64_t at = 0;  // bytes
  for (int64_t b = 0; b < p.blocks; b += Block::kValues / kBlock, at += Block::kBytes) {
    for (int i = 0; i < kWeights; ++i) DotStoredBlock<kType, kRows>(p, w[i] + at, b, total[i]);
  }
  for (int i = 0; i < kWeights; ++i) {
    for (int r = 0; r < kRows; ++r) sums[r * kGroupWeights + i] = SumOfDot(total[i][r]);
  }
}

// Rows of weights that are read side by side, so that they share what is loaded of a single row of x and
// their sums do not wait for each other. Blocks of 256 are long enough by themselves.
template <DType kType, int kRows>
constexpr int kWeightsAtOnce = kRows == 1 && UnpackedBlock<kType>::kValues == kBlock ? 4 : 1;

// `count` rows of weights from `begin` on, at most kGroupWeights.
template <DType kType, int kRows>
HWY_NOINLINE void DotRows(const PackedPanel& p, WeightView w, int64_t begin, int64_t count, float* sums) {
  constexpr int kAtOnce = kWeightsAtOnce<kType, kRows>;
  static_assert(kGroupWeights % kAtOnce == 0);
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const std::byte* rows[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) rows[i] = w.Row(begin + std::min(first + i, count - 1));
    DotRow<kType, kRows>(p, rows, sums + first);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_INT8_DOTS_INL_H_
