#include "kernels/rows/silu_gate_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/silu_gate_simd.cc"
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

HWY_ATTR void SiluGateRowTarget(const float* y, const float* z, int64_t count, float* out) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), Silu(d, hn::LoadU(d, z + i))), d, out + i);
  });
}

HWY_ATTR void SiluGateBackwardRowTarget(const float* y, const float* z, const float* dout, int64_t count,
                                        float* dy, float* dz) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    // All loads come before the stores, because outputs may be inputs.
    const auto value = hn::LoadU(d, y + i), gate = hn::LoadU(d, z + i), grad = hn::LoadU(d, dout + i);
    const auto s = Sigmoid(d, gate);
    hn::StoreU(hn::Mul(grad, hn::Mul(gate, s)), d, dy + i);
    hn::StoreU(hn::Mul(hn::Mul(grad, value), SiluSlope(d, gate, s)), d, dz + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(SiluGateRowTarget);
HWY_EXPORT(SiluGateBackwardRowTarget);
}  // namespace

void SiluGateRow(const float* y, const float* z, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(SiluGateRowTarget)(y, z, count, out);
}
void SiluGateBackwardRow(const float* y, const float* z, const float* dout, int64_t count, float* dy,
                         float* dz) {
  HWY_DYNAMIC_DISPATCH(SiluGateBackwardRowTarget)(y, z, dout, count, dy, dz);
}

}  // namespace ghost
#endif  // HWY_ONCE
