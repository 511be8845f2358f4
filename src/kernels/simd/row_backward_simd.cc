#include "kernels/simd/row_backward_simd.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/conv/conv1d_simd.h"
#include "kernels/simd/prefetch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/row_backward_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/simd/silu-inl.h"
#include "kernels/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;

// Adds vectors of any length; the sum is float32 in one vector and one scalar.
class Sum {
 public:
  HWY_ATTR Sum() : vector_(hn::Zero(D())) {}
  template <class Tag>
  HWY_INLINE void Add(Tag, hn::Vec<Tag> v) {
    if constexpr (std::is_same_v<Tag, D>) {
      vector_ = hn::Add(vector_, v);
    } else {
      scalar_ += hn::GetLane(v);
    }
  }
  HWY_INLINE float Total() const { return scalar_ + hn::GetLane(hn::SumOfLanes(D(), vector_)); }

 private:
  hn::Vec<D> vector_;
  float scalar_ = 0;
};

HWY_ATTR void RmsNormBackwardRowTarget(const float* x, const float* weight, float eps, const float* dy,
                                       int64_t count, float* dx, float* dweight) {
  Sum squares, mixed;
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    squares.Add(d, hn::Mul(v, v));
    mixed.Add(d, hn::Mul(v, hn::Mul(hn::LoadU(d, weight + i), hn::LoadU(d, dy + i))));
  });
  const float n = static_cast<float>(count), scale = 1.0f / std::sqrt(squares.Total() / n + eps);
  const float along = mixed.Total() / n * scale * scale;  // mean(w dy x^) / rho
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i), grad = hn::LoadU(d, dy + i);
    const auto across = hn::Mul(hn::LoadU(d, weight + i), grad);
    const auto part = hn::NegMulAdd(hn::Set(d, along), v, across);
    hn::StoreU(hn::MulAdd(hn::Set(d, scale), part, hn::LoadU(d, dx + i)), d, dx + i);
    if (!dweight) return;
    const auto normed = hn::Mul(hn::Set(d, scale), v);
    hn::StoreU(hn::MulAdd(grad, normed, hn::LoadU(d, dweight + i)), d, dweight + i);
  });
}

HWY_ATTR void GatedRmsNormBackwardRowTarget(const GatedNormRow& row, float eps) {
  Sum squares, mixed;
  ForEachVector(row.count, [&](auto d, int64_t i) HWY_ATTR {
    const auto z = hn::LoadU(d, row.z + i), s = Sigmoid(d, z);
    hn::StoreU(s, d, row.dz + i);  // kept for the second pass
    const auto v = hn::Mul(hn::LoadU(d, row.y + i), hn::Mul(z, s));
    squares.Add(d, hn::Mul(v, v));
    mixed.Add(d, hn::Mul(v, hn::Mul(hn::LoadU(d, row.weight + i), hn::LoadU(d, row.dout + i))));
  });
  const float n = static_cast<float>(row.count), scale = 1.0f / std::sqrt(squares.Total() / n + eps);
  const float along = mixed.Total() / n * scale * scale;
  ForEachVector(row.count, [&](auto d, int64_t i) HWY_ATTR {
    const auto z = hn::LoadU(d, row.z + i), s = hn::LoadU(d, row.dz + i), y = hn::LoadU(d, row.y + i);
    const auto silu = hn::Mul(z, s), v = hn::Mul(y, silu), grad = hn::LoadU(d, row.dout + i);
    const auto across = hn::Mul(hn::LoadU(d, row.weight + i), grad);
    const auto dv = hn::Mul(hn::Set(d, scale), hn::NegMulAdd(hn::Set(d, along), v, across));
    if (row.dweight) {  // before dy, which may alias dout, is written
      const auto normed = hn::Mul(hn::Set(d, scale), v);
      hn::StoreU(hn::MulAdd(grad, normed, hn::LoadU(d, row.dweight + i)), d, row.dweight + i);
    }
    hn::StoreU(hn::Mul(dv, silu), d, row.dy + i);
    hn::StoreU(hn::Mul(hn::Mul(dv, y), SiluSlope(d, z, s)), d, row.dz + i);
  });
}

HWY_ATTR void RmsNormThenGateBackwardRowTarget(const GatedNormRow& row, float eps) {
  Sum squares, mixed;
  ForEachVector(row.count, [&](auto d, int64_t i) HWY_ATTR {
    const auto z = hn::LoadU(d, row.z + i), s = Sigmoid(d, z), y = hn::LoadU(d, row.y + i);
    hn::StoreU(s, d, row.dz + i);  // kept for the second pass
    const auto across = hn::Mul(hn::LoadU(d, row.weight + i), hn::LoadU(d, row.dout + i));
    squares.Add(d, hn::Mul(y, y));
    mixed.Add(d, hn::Mul(y, hn::Mul(across, hn::Mul(z, s))));
  });
  const float n = static_cast<float>(row.count), scale = 1.0f / std::sqrt(squares.Total() / n + eps);
  const float along = mixed.Total() / n * scale * scale;  // mean(dn y / rho) / rho
  ForEachVector(row.count, [&](auto d, int64_t i) HWY_ATTR {
    const auto z = hn::LoadU(d, row.z + i), s = hn::LoadU(d, row.dz + i), y = hn::LoadU(d, row.y + i);
    const auto silu = hn::Mul(z, s), normed = hn::Mul(hn::Set(d, scale), y);
    const auto grad = hn::LoadU(d, row.dout + i), across = hn::Mul(hn::LoadU(d, row.weight + i), grad);
    if (row.dweight) {  // before dy, which may alias dout, is written
      const auto gated = hn::Mul(normed, silu);
      hn::StoreU(hn::MulAdd(grad, gated, hn::LoadU(d, row.dweight + i)), d, row.dweight + i);
    }
    const auto part = hn::NegMulAdd(hn::Set(d, along), y, hn::Mul(across, silu));
    hn::StoreU(hn::Mul(hn::Set(d, scale), part), d, row.dy + i);
    hn::StoreU(hn::Mul(hn::Mul(across, normed), SiluSlope(d, z, s)), d, row.dz + i);
  });
}

HWY_ATTR void SoftplusClampBackwardRowTarget(const float* raw, const float* bias, float low, float high,
                                             const float* ddt, int64_t count, float* draw) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::Add(hn::LoadU(d, raw + i), hn::LoadU(d, bias + i)), limit = hn::Set(d, 20.0f);
    const auto soft = hn::Log1p(d, hn::Exp(d, hn::Min(v, limit)));  // as the forward pass computes it
    const auto softplus = hn::IfThenElse(hn::Gt(v, limit), v, soft);
    const auto outside = hn::Or(hn::Lt(softplus, hn::Set(d, low)), hn::Gt(softplus, hn::Set(d, high)));
    const auto slope = hn::Mul(hn::LoadU(d, ddt + i), Sigmoid(d, v));
    hn::StoreU(hn::IfThenElse(outside, hn::Zero(d), slope), d, draw + i);
  });
}

HWY_ATTR void ScaledExpRowTarget(float* values, float shift, float scale, int64_t count) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = hn::Max(hn::Sub(hn::LoadU(d, values + i), hn::Set(d, shift)), hn::Set(d, -200.0f));
    hn::StoreU(hn::Mul(hn::Set(d, scale), hn::Exp(d, v)), d, values + i);
  });
}

HWY_ATTR double DistillationBackwardRowTarget(const DistillationRow& row, float* logits, int64_t count) {
  Sum divergence;
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto low = hn::Set(d, -200.0f);
    const auto of_model = hn::Sub(hn::LoadU(d, logits + i), hn::Set(d, row.shift));
    const auto of_teacher = hn::Sub(hn::LoadU(d, row.teacher + i), hn::Set(d, row.teacher_shift));
    const auto log_p = hn::Max(hn::Sub(of_model, hn::Set(d, row.shift_rest)), low);
    const auto log_q = hn::Max(hn::Sub(of_teacher, hn::Set(d, row.teacher_shift_rest)), low);
    const auto p = hn::Exp(d, log_p), q = hn::Exp(d, log_q);
    divergence.Add(d, hn::Mul(q, hn::Sub(log_q, log_p)));
    // In this order equal rows give exactly 0 for weight 1, also where the compiler fuses the two.
    const auto difference = hn::Sub(p, hn::Mul(hn::Set(d, row.weight), q));
    hn::StoreU(hn::Mul(hn::Set(d, row.scale), difference), d, logits + i);
  });
  return divergence.Total();
}

// Lanes run over channels. taps and sums: (W, kConvChannels), followed by the bias and its sum.
HWY_ATTR void ConvBackwardChannelsTarget(ConstView in, const ConvWeights& weights, ConstView dout,
                                         const ConvGradients& gradients, int64_t begin, int64_t count,
                                         float* scratch) {
  const int64_t W = weights.width;
  float *taps = scratch, *sums = scratch + (W + 1) * kConvChannels;
  std::fill_n(sums, (W + 1) * kConvChannels, 0.0f);
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t w = 0; w < W; ++w) taps[w * kConvChannels + c] = weights.taps[(begin + c) * W + w];
    taps[W * kConvChannels + c] = weights.bias ? weights.bias[begin + c] : 0.0f;
  }
  for (int64_t t = 0; t < in.rows; ++t) {
    const int64_t first = std::max<int64_t>(0, W - 1 - t);  // earlier taps reach back before the start
    const float* dout_row = dout.Row(t) + begin;
    if (t + kRowsAhead < in.rows) {
      PrefetchFloats(in.Row(t + kRowsAhead) + begin, count);
      PrefetchFloats(dout.Row(t + kRowsAhead) + begin, count);
      PrefetchFloats(gradients.in.Row(t + kRowsAhead) + begin, count);
    }
    ForEachVector(count, [&](auto d, int64_t c) HWY_ATTR {
      auto pre = hn::LoadU(d, taps + W * kConvChannels + c);
      for (int64_t w = first; w < W; ++w) {
        const auto input = hn::LoadU(d, in.Row(t - (W - 1) + w) + begin + c);
        pre = hn::MulAdd(hn::LoadU(d, taps + w * kConvChannels + c), input, pre);
      }
      const auto dpre = hn::Mul(hn::LoadU(d, dout_row + c), SiluSlope(d, pre, Sigmoid(d, pre)));
      for (int64_t w = first; w < W; ++w) {
        const int64_t s = t - (W - 1) + w;
        float* sum = sums + w * kConvChannels + c;
        hn::StoreU(hn::MulAdd(dpre, hn::LoadU(d, in.Row(s) + begin + c), hn::LoadU(d, sum)), d, sum);
        float* din = gradients.in.Row(s) + begin + c;
        const auto before = w == W - 1 ? hn::Zero(d) : hn::LoadU(d, din);  // the first visit to row t
        hn::StoreU(hn::MulAdd(dpre, hn::LoadU(d, taps + w * kConvChannels + c), before), d, din);
      }
      float* sum = sums + W * kConvChannels + c;
      hn::StoreU(hn::Add(dpre, hn::LoadU(d, sum)), d, sum);
    });
  }
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t w = 0; w < W && gradients.taps; ++w)
      gradients.taps[(begin + c) * W + w] += sums[w * kConvChannels + c];
    if (gradients.bias) gradients.bias[begin + c] += sums[W * kConvChannels + c];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(RmsNormBackwardRowTarget);
HWY_EXPORT(GatedRmsNormBackwardRowTarget);
HWY_EXPORT(RmsNormThenGateBackwardRowTarget);
HWY_EXPORT(SoftplusClampBackwardRowTarget);
HWY_EXPORT(ScaledExpRowTarget);
HWY_EXPORT(DistillationBackwardRowTarget);
HWY_EXPORT(ConvBackwardChannelsTarget);
}  // namespace

void RmsNormBackwardRow(const float* x, const float* weight, float eps, const float* dy, int64_t count,
                        float* dx, float* dweight) {
  HWY_DYNAMIC_DISPATCH(RmsNormBackwardRowTarget)(x, weight, eps, dy, count, dx, dweight);
}
void GatedRmsNormBackwardRow(const GatedNormRow& row, float eps) {
  HWY_DYNAMIC_DISPATCH(GatedRmsNormBackwardRowTarget)(row, eps);
}
void RmsNormThenGateBackwardRow(const GatedNormRow& row, float eps) {
  HWY_DYNAMIC_DISPATCH(RmsNormThenGateBackwardRowTarget)(row, eps);
}
void SoftplusClampBackwardRow(const float* raw, const float* bias, float low, float high, const float* ddt,
                              int64_t count, float* draw) {
  HWY_DYNAMIC_DISPATCH(SoftplusClampBackwardRowTarget)(raw, bias, low, high, ddt, count, draw);
}
void ScaledExpRow(float* values, float shift, float scale, int64_t count) {
  HWY_DYNAMIC_DISPATCH(ScaledExpRowTarget)(values, shift, scale, count);
}
double DistillationBackwardRow(const DistillationRow& row, float* logits, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(DistillationBackwardRowTarget)(row, logits, count);
}
void ConvBackwardChannels(ConstView in, const ConvWeights& weights, ConstView dout,
                          const ConvGradients& gradients, int64_t begin, int64_t count, float* scratch) {
  HWY_DYNAMIC_DISPATCH(ConvBackwardChannelsTarget)(in, weights, dout, gradients, begin, count, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
