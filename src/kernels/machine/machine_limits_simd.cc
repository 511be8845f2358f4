#include "kernels/machine/machine_limits_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/machine/machine_limits_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR double FmaLoopTarget(int64_t iterations, float* sink) {
  const hn::CappedTag<float, 16> d;
  // Twelve different starts; the compiler would compute equal ones only once.
  auto a0 = hn::Set(d, 0.01f), a1 = hn::Set(d, 0.02f), a2 = hn::Set(d, 0.03f), a3 = hn::Set(d, 0.04f);
  auto a4 = hn::Set(d, 0.05f), a5 = hn::Set(d, 0.06f), a6 = hn::Set(d, 0.07f), a7 = hn::Set(d, 0.08f);
  auto a8 = hn::Set(d, 0.09f), a9 = hn::Set(d, 0.10f), a10 = hn::Set(d, 0.11f), a11 = hn::Set(d, 0.12f);
  const auto scale = hn::Set(d, 0.999f), offset = hn::Set(d, 1e-4f);
  for (int64_t i = 0; i < iterations; ++i) {
    a0 = hn::MulAdd(a0, scale, offset), a1 = hn::MulAdd(a1, scale, offset);
    a2 = hn::MulAdd(a2, scale, offset), a3 = hn::MulAdd(a3, scale, offset);
    a4 = hn::MulAdd(a4, scale, offset), a5 = hn::MulAdd(a5, scale, offset);
    a6 = hn::MulAdd(a6, scale, offset), a7 = hn::MulAdd(a7, scale, offset);
    a8 = hn::MulAdd(a8, scale, offset), a9 = hn::MulAdd(a9, scale, offset);
    a10 = hn::MulAdd(a10, scale, offset), a11 = hn::MulAdd(a11, scale, offset);
  }
  auto sum = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(hn::Add(a4, a5), hn::Add(a6, a7)));
  sum = hn::Add(sum, hn::Add(hn::Add(a8, a9), hn::Add(a10, a11)));
  *sink = hn::GetLane(sum);
  return 2.0 * 12.0 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(iterations);
}

HWY_ATTR float SumLoopTarget(const float* data, int64_t count) {
  const hn::CappedTag<float, 16> d;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t i = 0; i < count; i += 4 * L) {
    s0 = hn::Add(s0, hn::Load(d, data + i));
    s1 = hn::Add(s1, hn::Load(d, data + i + L));
    s2 = hn::Add(s2, hn::Load(d, data + i + 2 * L));
    s3 = hn::Add(s3, hn::Load(d, data + i + 3 * L));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

HWY_ATTR void UpdateLoopTarget(float* data, int64_t count, float scale, float offset) {
  const hn::CappedTag<float, 16> d;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  const auto a = hn::Set(d, scale), b = hn::Set(d, offset);
  for (int64_t i = 0; i < count; i += 4 * L) {
    for (int64_t v = 0; v < 4; ++v) {
      hn::Store(hn::MulAdd(a, hn::Load(d, data + i + v * L), b), d, data + i + v * L);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(FmaLoopTarget);
HWY_EXPORT(SumLoopTarget);
HWY_EXPORT(UpdateLoopTarget);
}  // namespace

double FmaLoop(int64_t iterations, float* sink) {
  return HWY_DYNAMIC_DISPATCH(FmaLoopTarget)(iterations, sink);
}
float SumLoop(const float* data, int64_t count) { return HWY_DYNAMIC_DISPATCH(SumLoopTarget)(data, count); }
void UpdateLoop(float* data, int64_t count, float scale, float offset) {
  HWY_DYNAMIC_DISPATCH(UpdateLoopTarget)(data, count, scale, offset);
}

}  // namespace ghost
#endif  // HWY_ONCE
