// States of small types, vectorised. Elements are widened to float32 in registers, updated, and rounded on
// their way back, so a step reads and writes every byte of the state once.
#include "kernels/scan/stored_head_simd.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/row_tasks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scan/stored_head_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kStoredLanes = 16;  // of float32, at most

using D = hn::CappedTag<float, kStoredLanes>;
using V = hn::Vec<D>;
using DU = hn::Rebind<uint32_t, D>;
using DI = hn::Rebind<int32_t, D>;
using D16 = hn::Repartition<int16_t, D>;  // twice as many lanes
using DU16 = hn::Repartition<uint16_t, D>;

// Puts the lanes that ReorderDemote2To leaves in blocks of four, by turns of its two inputs, into their
// order.
class Packer {
 public:
  Packer() {
    const int L = static_cast<int>(hn::Lanes(D()));
    alignas(64) int32_t order[kStoredLanes];
    for (int j = 0; j < L; ++j) {
      const int second = j >= L / 2, i = j - second * (L / 2);
      order[j] = i / 2 * 4 + i % 2 + 2 * second;
    }
    indices_ = hn::SetTableIndices(DU(), order);
  }
  // The values of low and high, which fit into 16 bits.
  HWY_INLINE hn::Vec<D16> Pack(hn::Vec<DI> low, hn::Vec<DI> high) const {
    const auto packed = hn::ReorderDemote2To(D16(), low, high);
    return hn::BitCast(D16(), hn::TableLookupLanes(hn::BitCast(DU(), packed), indices_));
  }

 private:
  decltype(hn::SetTableIndices(DU(), static_cast<const int32_t*>(nullptr))) indices_;
};

// bfloat16 in the upper half of each lane, rounded to nearest even; a NaN as processors make it stays one.
HWY_INLINE hn::Vec<DI> RoundToBF16(V value) {
  const DU du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
  return hn::ShiftRight<16>(hn::BitCast(DI(), rounded));
}

// Two vectors of a 16-bit type, at `to`.
template <StateType kType>
HWY_INLINE void StorePair(const Packer& packer, V low, V high, uint16_t* HWY_RESTRICT to) {
  if constexpr (kType == StateType::kBF16) {
    hn::StoreU(hn::BitCast(DU16(), packer.Pack(RoundToBF16(low), RoundToBF16(high))), DU16(), to);
  } else {
    const D d;
    const size_t L = hn::Lanes(d);
    // The value is the second operand: x86 then keeps NaN.
    const auto clamp = [&](V v) HWY_ATTR {
      return hn::Max(hn::Set(d, -65504.0f), hn::Min(hn::Set(d, 65504.0f), v));
    };
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86 && !defined(HWY_DISABLE_F16C)
    const hn::Rebind<hwy::float16_t, D> d_half;
    const hn::Rebind<uint16_t, D> d_bits;
    hn::StoreU(hn::BitCast(d_bits, hn::DemoteTo(d_half, clamp(low))), d_bits, to);
    hn::StoreU(hn::BitCast(d_bits, hn::DemoteTo(d_half, clamp(high))), d_bits, to + L);
#else
    alignas(64) float values[2 * kStoredLanes];
    hn::Store(clamp(low), d, values);
    hn::Store(clamp(high), d, values + L);
    for (size_t i = 0; i < 2 * L; ++i) to[i] = F16FromF32(values[i]);
#endif
  }
}

template <StateType kType>
struct Row16 : StoredRow<kType == StateType::kBF16 ? DType::kBF16 : DType::kF16> {};

template <StateType kType>
HWY_INLINE uint16_t Round16(float value) {
  return kType == StateType::kBF16 ? BF16FromF32(value) : SaturatedF16FromF32(value);
}

// What the elements of a step share: dt * x, the sums of y, and random words, all in scratch.
struct StepBuffers {
  float *x, *y, *rows;
  uint16_t *channel_words, *element_words;
};

constexpr int64_t RoundedUp(int64_t count, int64_t unit) { return CeilDiv(count, unit) * unit; }

StepBuffers DivideScratch(int N, int P, float* scratch) {
  const int64_t width = RoundedUp(P, kStoredLanes);
  StepBuffers buffers = {.x = scratch, .y = scratch + width, .rows = scratch + 2 * width};
  buffers.channel_words = reinterpret_cast<uint16_t*>(scratch + 4 * width);
  buffers.element_words = buffers.channel_words + RoundedUp(N, 2 * kStoredLanes);
  return buffers;
}

HWY_ATTR void FillWords(RoundingSeeds seeds, int N, int P, const StepBuffers& buffers) {
  for (int n = 0; n < N; ++n) buffers.channel_words[n] = RandomWord(seeds.channel, static_cast<uint32_t>(n));
  for (int p = 0; p < P; ++p) buffers.element_words[p] = RandomWord(seeds.element, static_cast<uint32_t>(p));
}

// kPairs pairs of vectors from p on, all channels: y stays in registers.
template <StateType kType, int kPairs>
HWY_ATTR void Step16Strip(const HeadScan& in, const StoredHead& state, float decay_value, const float* x,
                          const Packer& packer, int p) {
  static_assert(kPairs == 1 || kPairs == 2 || kPairs == 4);
  const D d;
  const size_t L = hn::Lanes(d);
  const V decay = hn::Set(d, decay_value), zero = hn::Zero(d);
  V y0 = zero, y1 = zero, y2 = zero, y3 = zero, y4 = zero, y5 = zero, y6 = zero, y7 = zero;
  auto* HWY_RESTRICT row = reinterpret_cast<uint16_t*>(state.values) + p;
  const auto step = [&](V b, V c, size_t pair, V& low, V& high) HWY_ATTR {
    const Row16<kType> stored{{reinterpret_cast<const std::byte*>(row + pair * 2 * L)}};
    const V x0 = hn::Load(d, x + p + pair * 2 * L), x1 = hn::Load(d, x + p + pair * 2 * L + L);
    const V h0 = hn::MulAdd(b, x0, hn::Mul(decay, stored.Load(d, 0)));
    const V h1 = hn::MulAdd(b, x1, hn::Mul(decay, stored.Load(d, static_cast<int64_t>(L))));
    low = hn::MulAdd(c, h0, low);
    high = hn::MulAdd(c, h1, high);
    StorePair<kType>(packer, h0, h1, row + pair * 2 * L);
  };
  for (int n = 0; n < in.N; ++n, row += in.P) {
    const V b = hn::Set(d, in.b[n]), c = hn::Set(d, in.c[n]);
    step(b, c, 0, y0, y1);
    if constexpr (kPairs > 1) step(b, c, 1, y2, y3);
    if constexpr (kPairs > 2) step(b, c, 2, y4, y5), step(b, c, 3, y6, y7);
  }
  const auto finish = [&](size_t v, V y) HWY_ATTR {
    const V skip = hn::Mul(hn::Set(d, in.d), hn::LoadU(d, in.x + p + v * L));
    hn::StoreU(hn::Add(y, skip), d, in.y + p + v * L);
  };
  finish(0, y0), finish(1, y1);
  if constexpr (kPairs > 1) finish(2, y2), finish(3, y3);
  if constexpr (kPairs > 2) finish(4, y4), finish(5, y5), finish(6, y6), finish(7, y7);
}

template <StateType kType>
HWY_ATTR void Step16(const HeadScan& in, const StoredHead& state, float decay, const float* x) {
  const int pair = 2 * static_cast<int>(hn::Lanes(D())), P = in.P;
  const Packer packer;
  int p = 0;
  for (; p + 4 * pair <= P; p += 4 * pair) Step16Strip<kType, 4>(in, state, decay, x, packer, p);
  for (; p + 2 * pair <= P; p += 2 * pair) Step16Strip<kType, 2>(in, state, decay, x, packer, p);
  for (; p + pair <= P; p += pair) Step16Strip<kType, 1>(in, state, decay, x, packer, p);
  for (; p < P; ++p) {
    float sum = 0;
    for (int n = 0; n < in.N; ++n) {
      const int64_t i = int64_t{n} * P + p;
      const float h = decay * Row16<kType>{{state.values}}.At(i) + x[p] * in.b[n];
      const uint16_t bits = Round16<kType>(h);
      std::memcpy(state.values + 2 * i, &bits, sizeof(bits));
      sum += in.c[n] * h;
    }
    in.y[p] = sum + in.d * in.x[p];
  }
}

// The larger magnitude, as bits: NaN is larger than everything.
HWY_INLINE hn::Vec<DI> LargerMagnitude(hn::Vec<DI> largest, V value) {
  return hn::Max(largest, hn::BitCast(DI(), hn::Abs(value)));
}
float LargerMagnitude(float largest, float value) {
  return std::fabs(value) <= largest ? largest : std::fabs(value);  // NaN compares as larger, and stays
}
HWY_INLINE float LargestLane(hn::Vec<DI> bits) {
  return hn::GetLane(hn::BitCast(D(), hn::MaxOfLanes(DI(), bits)));
}

// Rounds a row of float32 to integers: the 16-bit product with 8 bits below the point, plus noise of 8 bits.
HWY_INLINE void QuantiseRow(const Packer& packer, const float* HWY_RESTRICT row, int P, float factor,
                            uint16_t channel_word, const uint16_t* HWY_RESTRICT element_words,
                            int8_t* HWY_RESTRICT to) {
  const D d;
  const DI di;
  const DU16 du16;
  const hn::Rebind<int8_t, D16> d8;
  const int L = static_cast<int>(hn::Lanes(d));
  // Adding 1.5 * 2^23 leaves the integer nearest to the product in the low bits.
  const V scale = hn::Set(d, factor * 256.0f), magic = hn::Set(d, 0x1.8p23f);
  const auto base = hn::BitCast(di, magic);
  const auto channel = hn::Set(du16, channel_word);
  int p = 0;
  for (; p + 2 * L <= P; p += 2 * L) {
    const V low = hn::MulAdd(hn::LoadU(d, row + p), scale, magic);
    const V high = hn::MulAdd(hn::LoadU(d, row + p + L), scale, magic);
    const auto fixed = packer.Pack(hn::Sub(hn::BitCast(di, low), base), hn::Sub(hn::BitCast(di, high), base));
    const auto noise = hn::ShiftRight<8>(hn::Add(channel, hn::LoadU(du16, element_words + p)));
    const auto sum = hn::ShiftRight<8>(hn::Add(fixed, hn::BitCast(D16(), noise)));
    hn::StoreU(hn::DemoteTo(d8, sum), d8, to + p);
  }
  for (; p < P; ++p) to[p] = RoundInt8(row[p], factor, RoundingNoise(channel_word, element_words[p]));
}

// Channels [n, n + kRows): updates them into buffers.rows, adds to y, and rounds.
template <int kRows>
HWY_INLINE void StepInt8Rows(const HeadScan& in, const StoredHead& state, float decay,
                             const StepBuffers& buffers, const Packer& packer, int n) {
  static_assert(kRows == 1 || kRows == 2);
  const D d;
  const DI di;
  const hn::Rebind<int8_t, D> d8;
  const int P = in.P, L = static_cast<int>(hn::Lanes(d));
  const int64_t width = RoundedUp(P, kStoredLanes);
  const int last = n + kRows - 1;
  auto* q0 = reinterpret_cast<int8_t*>(state.values) + int64_t{n} * P;
  auto* q1 = reinterpret_cast<int8_t*>(state.values) + int64_t{last} * P;
  float *row0 = buffers.rows, *row1 = buffers.rows + (kRows - 1) * width;
  const float s0 = decay * state.scales[n], s1 = decay * state.scales[last];
  const V scale0 = hn::Set(d, s0), scale1 = hn::Set(d, s1);
  const V b0 = hn::Set(d, in.b[n]), b1 = hn::Set(d, in.b[last]);
  const V c0 = hn::Set(d, in.c[n]), c1 = hn::Set(d, in.c[last]);
  auto max0 = hn::Zero(di), max1 = max0;
  const auto update = [&](const int8_t* q, V scale, V bx) HWY_ATTR {
    return hn::MulAdd(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, q))), scale, bx);
  };
  int p = 0;
  for (; p + L <= P; p += L) {
    const V x = hn::Load(d, buffers.x + p);
    const V h0 = update(q0 + p, scale0, hn::Mul(b0, x));
    V y = hn::MulAdd(c0, h0, hn::Load(d, buffers.y + p));
    hn::Store(h0, d, row0 + p);
    max0 = LargerMagnitude(max0, h0);
    if constexpr (kRows > 1) {
      const V h1 = update(q1 + p, scale1, hn::Mul(b1, x));
      y = hn::MulAdd(c1, h1, y);
      hn::Store(h1, d, row1 + p);
      max1 = LargerMagnitude(max1, h1);
    }
    hn::Store(y, d, buffers.y + p);
  }
  float largest0 = LargestLane(max0), largest1 = LargestLane(max1);
  for (; p < P; ++p) {
    row0[p] = static_cast<float>(q0[p]) * s0 + in.b[n] * buffers.x[p];
    largest0 = LargerMagnitude(largest0, row0[p]);
    buffers.y[p] += in.c[n] * row0[p];
    if constexpr (kRows > 1) {
      row1[p] = static_cast<float>(q1[p]) * s1 + in.b[last] * buffers.x[p];
      largest1 = LargerMagnitude(largest1, row1[p]);
      buffers.y[p] += in.c[last] * row1[p];
    }
  }
  state.scales[n] = Int8Scale(largest0);
  QuantiseRow(packer, row0, P, Int8Factor(largest0), buffers.channel_words[n], buffers.element_words, q0);
  if constexpr (kRows > 1) {
    state.scales[last] = Int8Scale(largest1);
    QuantiseRow(packer, row1, P, Int8Factor(largest1), buffers.channel_words[last], buffers.element_words,
                q1);
  }
}

HWY_ATTR void StepInt8(const HeadScan& in, const StoredHead& state, float decay, const StepBuffers& buffers) {
  const Packer packer;
  const int P = in.P;
  std::fill_n(buffers.y, P, 0.0f);
  int n = 0;
  for (; n + 2 <= in.N; n += 2) StepInt8Rows<2>(in, state, decay, buffers, packer, n);
  if (n < in.N) StepInt8Rows<1>(in, state, decay, buffers, packer, n);
  for (int p = 0; p < P; ++p) in.y[p] = buffers.y[p] + in.d * in.x[p];
}

HWY_ATTR void StepHeadTarget(const HeadScan& in, RoundingSeeds seeds, const StoredHead& state,
                             float* scratch) {
  const D d;
  const float dt = in.dt[0];
  const float decay = hn::GetLane(hn::Exp(d, hn::Set(d, dt * in.a)));
  const StepBuffers buffers = DivideScratch(in.N, in.P, scratch);
  for (int p = 0; p < in.P; ++p) buffers.x[p] = dt * in.x[p];
  switch (state.type) {
    case StateType::kBF16:
      return Step16<StateType::kBF16>(in, state, decay, buffers.x);
    case StateType::kF16:
      return Step16<StateType::kF16>(in, state, decay, buffers.x);
    default:
      FillWords(seeds, in.N, in.P, buffers);
      return StepInt8(in, state, decay, buffers);
  }
}

HWY_ATTR void WidenInt8(const StoredHead& head, float* values) {
  const D d;
  const hn::Rebind<int8_t, D> d8;
  const int P = head.P, L = static_cast<int>(hn::Lanes(d));
  const auto* q = reinterpret_cast<const int8_t*>(head.values);
  for (int n = 0; n < head.N; ++n, q += P, values += P) {
    const V scale = hn::Set(d, head.scales[n]);
    int p = 0;
    for (; p + L <= P; p += L) {
      const auto integers = hn::PromoteTo(DI(), hn::LoadU(d8, q + p));
      hn::StoreU(hn::Mul(hn::ConvertTo(d, integers), scale), d, values + p);
    }
    for (; p < P; ++p) values[p] = static_cast<float>(q[p]) * head.scales[n];
  }
}

HWY_ATTR void WidenHeadTarget(const StoredHead& head, float* values) {
  const D d;
  const int64_t count = int64_t{head.N} * head.P;
  switch (head.type) {
    case StateType::kF32:
      return WidenRow(d, StoredRow<DType::kF32>{head.values}, 0, count, values);
    case StateType::kBF16:
      return WidenRow(d, StoredRow<DType::kBF16>{head.values}, 0, count, values);
    case StateType::kF16:
      return WidenRow(d, StoredRow<DType::kF16>{head.values}, 0, count, values);
    case StateType::kInt8:
      return WidenInt8(head, values);
  }
}

template <StateType kType>
HWY_ATTR void Narrow16(const float* values, const StoredHead& head) {
  const D d;
  const int64_t count = int64_t{head.N} * head.P, L = static_cast<int64_t>(hn::Lanes(d));
  const Packer packer;
  auto* to = reinterpret_cast<uint16_t*>(head.values);
  int64_t i = 0;
  for (; i + 2 * L <= count; i += 2 * L) {
    StorePair<kType>(packer, hn::LoadU(d, values + i), hn::LoadU(d, values + i + L), to + i);
  }
  for (; i < count; ++i) to[i] = Round16<kType>(values[i]);
}

HWY_ATTR void NarrowInt8(const float* values, const StoredHead& head, const StepBuffers& buffers) {
  const D d;
  const int P = head.P, L = static_cast<int>(hn::Lanes(d));
  const Packer packer;
  auto* to = reinterpret_cast<int8_t*>(head.values);
  for (int n = 0; n < head.N; ++n, values += P, to += P) {
    auto bits = hn::Zero(DI());
    int p = 0;
    for (; p + L <= P; p += L) bits = LargerMagnitude(bits, hn::LoadU(d, values + p));
    float largest = LargestLane(bits);
    for (; p < P; ++p) largest = LargerMagnitude(largest, values[p]);
    head.scales[n] = Int8Scale(largest);
    QuantiseRow(packer, values, P, Int8Factor(largest), buffers.channel_words[n], buffers.element_words, to);
  }
}

void NarrowHeadTarget(const float* values, RoundingSeeds seeds, const StoredHead& head, float* scratch) {
  switch (head.type) {
    case StateType::kBF16:
      return Narrow16<StateType::kBF16>(values, head);
    case StateType::kF16:
      return Narrow16<StateType::kF16>(values, head);
    default:
      const StepBuffers buffers = DivideScratch(head.N, head.P, scratch);
      FillWords(seeds, head.N, head.P, buffers);
      return NarrowInt8(values, head, buffers);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(StepHeadTarget);
HWY_EXPORT(WidenHeadTarget);
HWY_EXPORT(NarrowHeadTarget);
}  // namespace

int64_t StepScratchFloats(int N, int P) {
  return 4 * CeilDiv(P, 16) * 16 + CeilDiv(N, 32) * 16 + CeilDiv(P, 32) * 16;
}

void StepHead(const HeadScan& in, RoundingSeeds seeds, const StoredHead& state, float* scratch) {
  GHOST_CHECK(in.length == 1 && state.type != StateType::kF32);
  HWY_DYNAMIC_DISPATCH(StepHeadTarget)(in, seeds, state, scratch);
}

void WidenHead(const StoredHead& head, float* values) { HWY_DYNAMIC_DISPATCH(WidenHeadTarget)(head, values); }

void NarrowHead(const float* values, RoundingSeeds seeds, const StoredHead& head, float* scratch) {
  GHOST_CHECK(head.type != StateType::kF32);
  HWY_DYNAMIC_DISPATCH(NarrowHeadTarget)(values, seeds, head, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
