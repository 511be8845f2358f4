#include "kernels/norm/norm_simd.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Once per target.
#include "kernels/simd/silu-inl.h"
#include "kernels/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// The sum of squares is float32 in four vectors: with 2560 values each lane adds 80.
HWY_INLINE float SumOfSquares(const float* x, int64_t count) {
  const D d;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * L <= count; i += 4 * L) {
    const V a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + i + L);
    const V c = hn::LoadU(d, x + i + 2 * L), e = hn::LoadU(d, x + i + 3 * L);
    s0 = hn::MulAdd(a, a, s0);
    s1 = hn::MulAdd(b, b, s1);
    s2 = hn::MulAdd(c, c, s2);
    s3 = hn::MulAdd(e, e, s3);
  }
  for (; i + L <= count; i += L) {
    const V a = hn::LoadU(d, x + i);
    s0 = hn::MulAdd(a, a, s0);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

// 1 / sqrt(mean(x^2) + eps)
HWY_INLINE float NormScale(const float* x, float eps, int64_t count) {
  return 1.0f / std::sqrt(SumOfSquares(x, count) / static_cast<float>(count) + eps);
}

HWY_ATTR void RmsNormRowTarget(const float* x, const float* weight, float eps, int64_t count, float* out) {
  const D d;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  const float scale = NormScale(x, eps, count);
  const V s = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + L <= count; i += L) {
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), s), hn::LoadU(d, weight + i)), d, out + i);
  }
  for (; i < count; ++i) out[i] = x[i] * scale * weight[i];
}

HWY_ATTR void GatedRmsNormRowTarget(const float* y, const float* z, const float* weight, float eps,
                                    int64_t count, float* out) {
  const D d;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + L <= count; i += L) {
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), Silu(d, hn::LoadU(d, z + i))), d, out + i);
  }
  for (; i < count; ++i) out[i] = y[i] * hn::GetLane(Silu(d, hn::Set(d, z[i])));
  RmsNormRowTarget(out, weight, eps, count, out);
}

HWY_ATTR void RmsNormThenGateRowTarget(const float* y, const float* z, const float* weight, float eps,
                                       int64_t count, float* out) {
  const float scale = NormScale(y, eps, count);
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, y + i), hn::Set(d, scale));
    const auto normed = hn::Mul(scaled, hn::LoadU(d, weight + i));
    hn::StoreU(hn::Mul(normed, Silu(d, hn::LoadU(d, z + i))), d, out + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(RmsNormRowTarget);
HWY_EXPORT(GatedRmsNormRowTarget);
HWY_EXPORT(RmsNormThenGateRowTarget);
}  // namespace

void RmsNormRow(const float* x, const float* weight, float eps, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(RmsNormRowTarget)(x, weight, eps, count, out);
}
void GatedRmsNormRow(const float* y, const float* z, const float* weight, float eps, int64_t count,
                     float* out) {
  HWY_DYNAMIC_DISPATCH(GatedRmsNormRowTarget)(y, z, weight, eps, count, out);
}
void RmsNormThenGateRow(const float* y, const float* z, const float* weight, float eps, int64_t count,
                        float* out) {
  HWY_DYNAMIC_DISPATCH(RmsNormThenGateRowTarget)(y, z, weight, eps, count, out);
}

}  // namespace ghost
#endif  // HWY_ONCE
