#include "kernels/rows/softmax_simd.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/softmax_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

HWY_ATTR float MaxValueTarget(const float* values, int64_t count) {
  const D d;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  V max = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + L <= count; i += L) {
    const V v = hn::LoadU(d, values + i);
    max = hn::IfThenElse(hn::Gt(v, max), v, max);  // not Max(): its NaN differs between targets
  }
  float best = hn::GetLane(hn::MaxOfLanes(d, max));
  for (; i < count; ++i) best = values[i] > best ? values[i] : best;
  return best;
}

// sum exp(values[i] - max), each times values[i] - others[i] if kTimesDifference; else `others` is not read.
template <bool kTimesDifference>
HWY_ATTR double SumExpOf(const float* values, const float* others, float max, int64_t count) {
  constexpr int64_t kBlock = 128;
  const D d;
  const hn::CappedTag<double, 8> d64;
  const hn::Rebind<float, decltype(d64)> half;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d)), L64 = static_cast<int64_t>(hn::Lanes(d64));
  const V top = hn::Set(d, max);
  auto s0 = hn::Zero(d64), s1 = s0;
  alignas(64) float block[kBlock], other_block[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    if (n < kBlock) {  // pad with values that add nothing
      std::fill(std::copy_n(values + i, n, block), block + kBlock, -std::numeric_limits<float>::infinity());
      if (kTimesDifference) std::fill(std::copy_n(others + i, n, other_block), other_block + kBlock, 0.0f);
    }
    const float* source = n < kBlock ? block : values + i;
    for (int64_t j = 0; j < kBlock; j += L) {
      // Exp needs finite arguments; below -200 it returns 0 anyway. It also returns 0 for NaN, which
      // must stay visible here.
      const V low = hn::Set(d, -200.0f), value = hn::LoadU(d, source + j);
      V v = hn::Sub(value, top);
      v = hn::IfThenElse(hn::Lt(v, low), low, v);
      V e = hn::MulAdd(v, hn::Zero(d), hn::Exp(d, v));
      if constexpr (kTimesDifference) {
        const float* other = n < kBlock ? other_block : others + i;
        const V product = hn::Mul(e, hn::Sub(value, hn::LoadU(d, other + j)));
        e = hn::IfThenZeroElse(hn::Eq(e, hn::Zero(d)), product);  // the difference may be infinite
      }
      hn::Store(e, d, block + j);
    }
    for (int64_t j = 0; j < kBlock; j += 2 * L64) {
      s0 = hn::Add(s0, hn::PromoteTo(d64, hn::Load(half, block + j)));
      s1 = hn::Add(s1, hn::PromoteTo(d64, hn::Load(half, block + j + L64)));
    }
  }
  return hn::GetLane(hn::SumOfLanes(d64, hn::Add(s0, s1)));
}

HWY_ATTR double SumExpTarget(const float* values, float max, int64_t count) {
  return SumExpOf</*kTimesDifference=*/false>(values, nullptr, max, count);
}
HWY_ATTR double SumExpTimesDifferenceTarget(const float* values, const float* others, float max,
                                            int64_t count) {
  return SumExpOf</*kTimesDifference=*/true>(values, others, max, count);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(MaxValueTarget);
HWY_EXPORT(SumExpTarget);
HWY_EXPORT(SumExpTimesDifferenceTarget);
}  // namespace

float MaxValue(const float* values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(MaxValueTarget)(values, count);
}
double SumExp(const float* values, float max, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(SumExpTarget)(values, max, count);
}
double SumExpTimesDifference(const float* values, const float* others, float max, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(SumExpTimesDifferenceTarget)(values, others, max, count);
}

}  // namespace ghost
#endif  // HWY_ONCE
