// Activations as the integer products read them, quantised by the rule of activation_blocks.h; included once
// per instruction set.
#if defined(GHOST_KERNELS_INT8_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_INT8_ACTIVATIONS_INL_H_
#undef GHOST_KERNELS_INT8_ACTIVATIONS_INL_H_
#else
#define GHOST_KERNELS_INT8_ACTIVATIONS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/matmul/activation_blocks.h"
#include "kernels/matmul/dot_blocks-inl.h"
#include "kernels/matmul/int8_product.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, kGroupWeights>;
using DI = hn::Rebind<int32_t, DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

constexpr int64_t kGroupLanes = hn::MaxLanes(DF());
constexpr int64_t kBlock = kActivationBlock;

#if HWY_TARGET == HWY_AVX3_DL
using Activation = int8_t;
#else
// Without dot products of bytes, weights and activations are widened to 16 bits.
using Activation = int16_t;
#endif

// A step multiplies what 32 bits of activations hold, four bytes or two 16-bit numbers, in every lane.
constexpr int64_t kStepValues = 4 / sizeof(Activation);
constexpr int64_t kSteps = kBlock / kStepValues;  // per block

// What packing depends on: the type of the weights, and whether few rows are multiplied (dots) or many.
struct PackFacts {
  bool dots = false;
  int64_t sub = 0;   // values that share a scale of the weights
  int32_t zero = 0;  // what is to be subtracted from the weights as unpacked
  bool minima = false;
};

// A panel for tiles is ordered (block, row), for dots (row, block). Per block and row: 32 integers, their
// scale, and `terms` numbers. These are minus zero times the sum of the integers (int32) or, for weights with
// minima, scale times that sum (float32): over each sub-block for tiles, over each lane for dots.
struct PackedPanel {
  int64_t rows, blocks, terms;
  Activation* values;
  float* scales;
  float* offsets;
};

constexpr int64_t kValueFloats = kBlock * int64_t{sizeof(Activation)} / 4;
constexpr int64_t kMaxTerms = 8;

int64_t PackedInt8FloatsTarget(int64_t T, int64_t K) {
  return T * (K / kBlock) * (kValueFloats + 1 + kMaxTerms);
}

HWY_INLINE PackedPanel ViewPanel(float* packed, int64_t T, int64_t K, int64_t panel, const PackFacts& facts) {
  PackedPanel p;
  const int64_t first = panel * kInt8PanelRows;
  p.rows = std::min(kInt8PanelRows, T - first);
  p.blocks = K / kBlock;
  p.terms = facts.minima ? 1 : facts.dots ? kMaxTerms : kBlock / facts.sub;
  float* start = packed + first * p.blocks * (kValueFloats + 1 + kMaxTerms);
  p.values = reinterpret_cast<Activation*>(start);
  p.scales = start + p.rows * p.blocks * kValueFloats;
  p.offsets = p.scales + p.rows * p.blocks;
  return p;
}

// Quantises a block (activation_blocks.h). Integers go to q in their order; returns the scale.
HWY_INLINE float QuantizeBlock(const float* HWY_RESTRICT x, int32_t* HWY_RESTRICT q) {
  const DF d;
  const DI di;
  const VI magnitude = hn::Set(di, 0x7fffffff);
  VI largest_bits = hn::Zero(di);
  for (int64_t i = 0; i < kBlock; i += kGroupLanes) {
    largest_bits = hn::Max(largest_bits, hn::And(hn::BitCast(di, hn::LoadU(d, x + i)), magnitude));
  }
  const int32_t bits = hn::GetLane(hn::MaxOfLanes(di, largest_bits));
  const float largest = std::bit_cast<float>(bits);
  const bool finite = bits < 0x7f800000;
  if (!finite || largest < kActivationTiny) {
    std::fill_n(q, kBlock, 0);
    return finite ? 0.0f : std::bit_cast<float>(0x7fc00000);
  }
  const VF inverse = hn::Set(d, 127.0f / largest);
  for (int64_t i = 0; i < kBlock; i += kGroupLanes) {
    hn::Store(hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), inverse)), di, q + i);
  }
  return largest / 127.0f;
}

// Integers in the order in which AddStep multiplies them.
HWY_INLINE void StoreValues(const int32_t* q, bool dots, Activation* values) {
  if constexpr (sizeof(Activation) == 1) {
    const DI di;
    const hn::Rebind<Activation, DI> narrow;
    for (int64_t k = 0; k < kBlock; k += kGroupLanes) {
      hn::StoreU(hn::DemoteTo(narrow, hn::Load(di, q + k)), narrow, values + k);
    }
  } else if (dots) {  // of the values of a vector of bytes, first the even ones, then the odd ones
    for (int64_t k = 0; k < kBlock; ++k) {
      const int64_t begin = k / kDotBytes * kDotBytes, i = k - begin;
      values[k] = static_cast<Activation>(q[begin + i % (kDotBytes / 2) * 2 + i / (kDotBytes / 2)]);
    }
  } else {
    for (int64_t k = 0; k < kBlock; k += 4) {
      values[k] = static_cast<Activation>(q[k]), values[k + 1] = static_cast<Activation>(q[k + 2]);
      values[k + 2] = static_cast<Activation>(q[k + 1]), values[k + 3] = static_cast<Activation>(q[k + 3]);
    }
  }
}

template <int64_t kTerms>
HWY_INLINE void StoreOffsets(const int32_t* HWY_RESTRICT q, float scale, const PackFacts& facts,
                             float* HWY_RESTRICT out) {
  constexpr int64_t kEach = kBlock / kTerms;
  for (int64_t i = 0; i < kTerms; ++i) {
    int32_t sum = 0;
    for (int64_t k = i * kEach; k < (i + 1) * kEach; ++k) sum += q[k];
    out[i] = facts.minima ? scale * static_cast<float>(sum) : std::bit_cast<float>(-facts.zero * sum);
  }
}

HWY_ATTR void PackPanel(ConstView x, int64_t panel, const PackFacts& facts, float* packed) {
  const PackedPanel p = ViewPanel(packed, x.rows, x.cols, panel, facts);
  HWY_ALIGN int32_t q[kBlock];
  for (int64_t t = 0; t < p.rows; ++t) {
    const float* row = x.Row(panel * kInt8PanelRows + t);
    for (int64_t b = 0; b < p.blocks; ++b) {
      const int64_t at = facts.dots ? t * p.blocks + b : b * p.rows + t;
      p.scales[at] = QuantizeBlock(row + b * kBlock, q);
      StoreValues(q, facts.dots, p.values + at * kBlock);
      float* offsets = p.offsets + at * p.terms;
      if (p.terms == 1) StoreOffsets<1>(q, p.scales[at], facts, offsets);
      if (p.terms == 2) StoreOffsets<2>(q, p.scales[at], facts, offsets);
      if (p.terms == kMaxTerms) StoreOffsets<kMaxTerms>(q, p.scales[at], facts, offsets);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_INT8_ACTIVATIONS_INL_H_
