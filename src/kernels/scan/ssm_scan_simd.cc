// The vectorised recurrence, with the state in registers.
//
// Within a block of tokens the stored state is divided by the decay since the start of the block, alpha_t =
// a_1 ... a_t ("normalised state"):
//   scaled += (dt_t * x_t / alpha_t) * b_t
//   y_t    += (alpha_t * c_t) * scaled
// This saves the multiplication by a_t: two multiply-adds per element instead of three operations. alpha is a
// float64 product. Before it leaves [kMinScale, 1], the state is multiplied by it and alpha restarts at 1, so
// nothing overflows and relative errors stay those of the plain form.
#include "kernels/scan/ssm_scan_simd.h"

#include <algorithm>

#include "kernels/simd/row_stride.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scan/ssm_scan_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kBlock = 64;     // tokens; statistics stay float32 no longer than this
constexpr int kMaxLanes = 16;  // of float32; longer vectors are used in part
constexpr double kMinScale = 1e-12;

using D = hn::CappedTag<float, kMaxLanes>;
using V = hn::Vec<D>;

// Tokens [begin, end) share one alpha; the state is multiplied by `scale` before the first of them.
struct Segment {
  int begin, end;
  float scale;
};

struct Block {
  int length = 0;
  const float* b = nullptr;  // (length, stride)
  const float* c = nullptr;  // (length, stride), times alpha
  int64_t stride = 0;
  float alpha[kBlock + kMaxLanes];
  float x_scale[kBlock + kMaxLanes];  // dt / alpha
  Segment segments[kBlock + 1];
  int num_segments = 0;
  float final_scale = 1;  // converts the scaled state to the state
};

// exp(dt * a) of the block's tokens, their running products, and where those restart.
HWY_ATTR void PlanBlock(const HeadScan& in, int64_t first, Block& block) {
  const D d;
  float decay[kBlock + kMaxLanes], dt[kBlock + kMaxLanes];
  for (int t = 0; t < block.length; ++t) dt[t] = in.dt[(first + t) * in.dt_stride];
  for (int t = block.length; t < block.length + kMaxLanes; ++t) dt[t] = 0;
  for (int t = 0; t < block.length; t += static_cast<int>(hn::Lanes(d))) {
    hn::StoreU(hn::Exp(d, hn::Mul(hn::LoadU(d, dt + t), hn::Set(d, in.a))), d, decay + t);
  }
  double alpha = 1;
  block.num_segments = 0;
  Segment segment = {0, 0, 1.0f};
  for (int t = 0; t < block.length; ++t) {
    const double next = alpha * decay[t];
    if (next < kMinScale || next > 1 / kMinScale) {
      segment.end = t;
      block.segments[block.num_segments++] = segment;
      segment = {t, 0, static_cast<float>(next)};
      alpha = 1;
    } else {
      alpha = next;
    }
    block.alpha[t] = static_cast<float>(alpha);
    block.x_scale[t] = static_cast<float>(dt[t] / alpha);
  }
  segment.end = block.length;
  block.segments[block.num_segments++] = segment;
  block.final_scale = static_cast<float>(alpha);
}

// Copies b and alpha * c of the block to scratch.
HWY_ATTR void PackBlock(const HeadScan& in, int64_t first, float* b_rows, float* c_rows, Block& block) {
  const D d;
  const int N = in.N, L = static_cast<int>(hn::Lanes(d));
  block.b = b_rows;
  block.c = c_rows;
  block.stride = RowStride(N);
  for (int t = 0; t < block.length; ++t) {
    const float* b = in.b + (first + t) * in.b_stride;
    const float* c = in.c + (first + t) * in.c_stride;
    float* b_out = b_rows + t * block.stride;
    float* c_out = c_rows + t * block.stride;
    const float alpha = block.alpha[t];
    const V scale = hn::Set(d, alpha);
    int n = 0;
    for (; n + L <= N; n += L) {
      hn::Store(hn::LoadU(d, b + n), d, b_out + n);
      hn::Store(hn::Mul(hn::LoadU(d, c + n), scale), d, c_out + n);
    }
    for (; n < N; ++n) {
      b_out[n] = b[n];
      c_out[n] = c[n] * alpha;
    }
  }
}

// One token of one channel, two vectors of p.
template <bool kOutput, bool kState>
HWY_INLINE void Step(float b_n, float c_n, V alpha2, V x0, V x1, V& h0, V& h1, V& y0, V& y1, V& out_energy,
                     V& state_energy) {
  const D d;
  const V b = hn::Set(d, b_n), c = hn::Set(d, c_n);
  h0 = hn::MulAdd(b, x0, h0);
  h1 = hn::MulAdd(b, x1, h1);
  if constexpr (kOutput) {
    const V o0 = hn::Mul(c, h0), o1 = hn::Mul(c, h1);
    y0 = hn::Add(y0, o0);
    y1 = hn::Add(y1, o1);
    out_energy = hn::MulAdd(o0, o0, out_energy);
    out_energy = hn::MulAdd(o1, o1, out_energy);
  } else {
    y0 = hn::MulAdd(c, h0, y0);
    y1 = hn::MulAdd(c, h1, y1);
  }
  if constexpr (kState) {
    state_energy = hn::MulAdd(alpha2, hn::MulAdd(h0, h0, hn::Mul(h1, h1)), state_energy);
  }
}

template <bool kOutput, bool kState>
HWY_INLINE void AddEnergy(V out_energy, V state_energy, double* output_sum, double* state_sum, int n) {
  const D d;
  if constexpr (kOutput) output_sum[n] += hn::GetLane(hn::SumOfLanes(d, out_energy));
  if constexpr (kState) state_sum[n] += hn::GetLane(hn::SumOfLanes(d, state_energy));
}

// One tile: kChannels state channels from n on, two vectors of p, over all tokens of the block. x: dt * x /
// alpha, y: the sums so far, both (length, 2 vectors).
template <int kChannels, bool kOutput, bool kState>
HWY_INLINE void ScanTile(const HeadScan& in, const Block& block, int n, const float* HWY_RESTRICT x,
                         float* HWY_RESTRICT y, float* HWY_RESTRICT state, int64_t state_stride) {
  const D d;
  const size_t L = hn::Lanes(d);
  const V zero = hn::Zero(d);
  V h00 = hn::LoadU(d, state), h01 = hn::LoadU(d, state + L);
  V h10 = zero, h11 = zero, h20 = zero, h21 = zero, h30 = zero, h31 = zero;
  V e0 = zero, e1 = zero, e2 = zero, e3 = zero, s0 = zero, s1 = zero, s2 = zero, s3 = zero;
  if constexpr (kChannels > 1) {
    h10 = hn::LoadU(d, state + state_stride);
    h11 = hn::LoadU(d, state + state_stride + L);
  }
  if constexpr (kChannels > 2) {
    h20 = hn::LoadU(d, state + 2 * state_stride);
    h21 = hn::LoadU(d, state + 2 * state_stride + L);
  }
  if constexpr (kChannels > 3) {
    h30 = hn::LoadU(d, state + 3 * state_stride);
    h31 = hn::LoadU(d, state + 3 * state_stride + L);
  }
  const auto scale_state = [&](float factor) HWY_ATTR {
    const V scale = hn::Set(d, factor);
    h00 = hn::Mul(h00, scale), h01 = hn::Mul(h01, scale);
    if constexpr (kChannels > 1) h10 = hn::Mul(h10, scale), h11 = hn::Mul(h11, scale);
    if constexpr (kChannels > 2) h20 = hn::Mul(h20, scale), h21 = hn::Mul(h21, scale);
    if constexpr (kChannels > 3) h30 = hn::Mul(h30, scale), h31 = hn::Mul(h31, scale);
  };
  for (int s = 0; s < block.num_segments; ++s) {
    const Segment& segment = block.segments[s];
    scale_state(segment.scale);
    const float* HWY_RESTRICT b = block.b + segment.begin * block.stride + n;
    const float* HWY_RESTRICT c = block.c + segment.begin * block.stride + n;
    for (int t = segment.begin; t < segment.end; ++t, b += block.stride, c += block.stride) {
      const V x0 = hn::Load(d, x + t * 2 * L), x1 = hn::Load(d, x + t * 2 * L + L);
      V y0 = hn::Load(d, y + t * 2 * L), y1 = hn::Load(d, y + t * 2 * L + L);
      const V alpha2 = kState ? hn::Set(d, block.alpha[t] * block.alpha[t]) : zero;
      Step<kOutput, kState>(b[0], c[0], alpha2, x0, x1, h00, h01, y0, y1, e0, s0);
      if constexpr (kChannels > 1)
        Step<kOutput, kState>(b[1], c[1], alpha2, x0, x1, h10, h11, y0, y1, e1, s1);
      if constexpr (kChannels > 2)
        Step<kOutput, kState>(b[2], c[2], alpha2, x0, x1, h20, h21, y0, y1, e2, s2);
      if constexpr (kChannels > 3)
        Step<kOutput, kState>(b[3], c[3], alpha2, x0, x1, h30, h31, y0, y1, e3, s3);
      hn::Store(y0, d, y + t * 2 * L);
      hn::Store(y1, d, y + t * 2 * L + L);
    }
  }
  scale_state(block.final_scale);
  hn::StoreU(h00, d, state);
  hn::StoreU(h01, d, state + L);
  AddEnergy<kOutput, kState>(e0, s0, in.output_energy, in.state_energy, n);
  if constexpr (kChannels > 1) {
    hn::StoreU(h10, d, state + state_stride);
    hn::StoreU(h11, d, state + state_stride + L);
    AddEnergy<kOutput, kState>(e1, s1, in.output_energy, in.state_energy, n + 1);
  }
  if constexpr (kChannels > 2) {
    hn::StoreU(h20, d, state + 2 * state_stride);
    hn::StoreU(h21, d, state + 2 * state_stride + L);
    AddEnergy<kOutput, kState>(e2, s2, in.output_energy, in.state_energy, n + 2);
  }
  if constexpr (kChannels > 3) {
    hn::StoreU(h30, d, state + 3 * state_stride);
    hn::StoreU(h31, d, state + 3 * state_stride + L);
    AddEnergy<kOutput, kState>(e3, s3, in.output_energy, in.state_energy, n + 3);
  }
}

// All channels of one strip of p, as many at a time as fit AVX2's sixteen registers with their sums.
template <bool kOutput, bool kState>
HWY_ATTR void ScanStrip(const HeadScan& in, const Block& block, const float* x, float* y, float* state,
                        int64_t state_stride) {
  constexpr int kChannels = kState ? 2 : kOutput ? 3 : 4;
  int n = 0;
  for (; n + kChannels <= in.N; n += kChannels) {
    ScanTile<kChannels, kOutput, kState>(in, block, n, x, y, state + n * state_stride, state_stride);
  }
  float* rest = state + n * state_stride;
  switch (in.N - n) {
    case 3:
      return ScanTile<3, kOutput, kState>(in, block, n, x, y, rest, state_stride);
    case 2:
      return ScanTile<2, kOutput, kState>(in, block, n, x, y, rest, state_stride);
    case 1:
      return ScanTile<1, kOutput, kState>(in, block, n, x, y, rest, state_stride);
  }
}

void ScanStripDispatch(const HeadScan& in, const Block& block, const float* x, float* y, float* state,
                       int64_t state_stride) {
  if (in.output_energy && in.state_energy) return ScanStrip<true, true>(in, block, x, y, state, state_stride);
  if (in.output_energy) return ScanStrip<true, false>(in, block, x, y, state, state_stride);
  if (in.state_energy) return ScanStrip<false, true>(in, block, x, y, state, state_stride);
  ScanStrip<false, false>(in, block, x, y, state, state_stride);
}

// Tokens [first, first + block.length) of the strip of `width` <= two vectors that starts at p.
HWY_ATTR void ScanBlockStrip(const HeadScan& in, const Block& block, int64_t first, int p, int width,
                             float* padded_state) {
  const D d;
  const int L = static_cast<int>(hn::Lanes(d));
  alignas(64) float x[kBlock * 2 * kMaxLanes], y[kBlock * 2 * kMaxLanes];
  const bool full = width == 2 * L;
  for (int t = 0; t < block.length; ++t) {
    const float* row = in.x + (first + t) * in.x_stride + p;
    if (full) {
      const V x0 = hn::LoadU(d, row), x1 = hn::LoadU(d, row + L);
      const V scale = hn::Set(d, block.x_scale[t]), skip = hn::Set(d, in.d);
      hn::Store(hn::Mul(x0, scale), d, x + t * 2 * L);
      hn::Store(hn::Mul(x1, scale), d, x + t * 2 * L + L);
      hn::Store(hn::Mul(x0, skip), d, y + t * 2 * L);
      hn::Store(hn::Mul(x1, skip), d, y + t * 2 * L + L);
    } else {
      for (int i = 0; i < 2 * L; ++i) {
        x[t * 2 * L + i] = i < width ? row[i] * block.x_scale[t] : 0.0f;
        y[t * 2 * L + i] = i < width ? row[i] * in.d : 0.0f;
      }
    }
  }
  if (full) {
    ScanStripDispatch(in, block, x, y, in.state + p, in.P);
  } else {
    for (int n = 0; n < in.N; ++n) {
      for (int i = 0; i < 2 * L; ++i)
        padded_state[n * 2 * L + i] = i < width ? in.state[n * in.P + p + i] : 0;
    }
    ScanStripDispatch(in, block, x, y, padded_state, 2 * L);
    for (int n = 0; n < in.N; ++n) {
      for (int i = 0; i < width; ++i) in.state[n * in.P + p + i] = padded_state[n * 2 * L + i];
    }
  }
  for (int t = 0; t < block.length; ++t) {
    float* row = in.y + (first + t) * in.y_stride + p;
    if (full) {
      hn::StoreU(hn::Load(d, y + t * 2 * L), d, row);
      hn::StoreU(hn::Load(d, y + t * 2 * L + L), d, row + L);
    } else {
      std::copy_n(y + t * 2 * L, width, row);
    }
  }
}

// One token, `kVectors` vectors from p on: reads and writes the state once, in order.
template <int kVectors>
HWY_ATTR void DecodeStrip(const HeadScan& in, float decay_value, float dt, int p) {
  const D d;
  const size_t L = hn::Lanes(d);
  static_assert(kVectors == 1 || kVectors == 2 || kVectors == 4 || kVectors == 8);
  alignas(64) float x[8 * kMaxLanes];
  for (int v = 0; v < kVectors; ++v) {
    hn::Store(hn::Mul(hn::LoadU(d, in.x + p + v * L), hn::Set(d, dt)), d, x + v * L);
  }
  const V decay = hn::Set(d, decay_value), zero = hn::Zero(d);
  V y0 = zero, y1 = zero, y2 = zero, y3 = zero, y4 = zero, y5 = zero, y6 = zero, y7 = zero;
  float* HWY_RESTRICT state = in.state + p;
  const auto step = [&](V b, V c, size_t v, V& y) HWY_ATTR {
    const V h = hn::MulAdd(b, hn::Load(d, x + v * L), hn::Mul(decay, hn::LoadU(d, state + v * L)));
    hn::StoreU(h, d, state + v * L);
    y = hn::MulAdd(c, h, y);
  };
  for (int n = 0; n < in.N; ++n, state += in.P) {
    const V b = hn::Set(d, in.b[n]), c = hn::Set(d, in.c[n]);
    step(b, c, 0, y0);
    if constexpr (kVectors > 1) step(b, c, 1, y1);
    if constexpr (kVectors > 2) step(b, c, 2, y2), step(b, c, 3, y3);
    if constexpr (kVectors > 4) step(b, c, 4, y4), step(b, c, 5, y5), step(b, c, 6, y6), step(b, c, 7, y7);
  }
  const auto finish = [&](size_t v, V y) HWY_ATTR {
    const V skip = hn::Mul(hn::Set(d, in.d), hn::LoadU(d, in.x + p + v * L));
    hn::StoreU(hn::Add(y, skip), d, in.y + p + v * L);
  };
  finish(0, y0);
  if constexpr (kVectors > 1) finish(1, y1);
  if constexpr (kVectors > 2) finish(2, y2), finish(3, y3);
  if constexpr (kVectors > 4) finish(4, y4), finish(5, y5), finish(6, y6), finish(7, y7);
}

HWY_ATTR void DecodeHead(const HeadScan& in) {
  const D d;
  const int L = static_cast<int>(hn::Lanes(d)), P = in.P;
  const float dt = in.dt[0];
  const float decay = hn::GetLane(hn::Exp(d, hn::Set(d, dt * in.a)));
  int p = 0;
  for (; p + 8 * L <= P; p += 8 * L) DecodeStrip<8>(in, decay, dt, p);
  for (; p + 4 * L <= P; p += 4 * L) DecodeStrip<4>(in, decay, dt, p);
  for (; p + 2 * L <= P; p += 2 * L) DecodeStrip<2>(in, decay, dt, p);
  for (; p + L <= P; p += L) DecodeStrip<1>(in, decay, dt, p);
  for (; p < P; ++p) {
    const float x = dt * in.x[p];
    float sum = 0;
    for (int n = 0; n < in.N; ++n) {
      float& h = in.state[n * P + p];
      h = decay * h + x * in.b[n];
      sum += in.c[n] * h;
    }
    in.y[p] = sum + in.d * in.x[p];
  }
}

void ScanHeadTarget(const HeadScan& in, float* scratch) {
  if (in.length == 1 && !in.output_energy && !in.state_energy) return DecodeHead(in);
  const D d;
  const int strip = 2 * static_cast<int>(hn::Lanes(d));
  float* b_rows = scratch;
  float* c_rows = b_rows + kBlock * RowStride(in.N);
  float* padded_state = c_rows + kBlock * RowStride(in.N);
  Block block;
  for (int64_t first = 0; first < in.length; first += kBlock) {
    block.length = static_cast<int>(std::min<int64_t>(kBlock, in.length - first));
    PlanBlock(in, first, block);
    PackBlock(in, first, b_rows, c_rows, block);
    for (int p = 0; p < in.P; p += strip) {
      ScanBlockStrip(in, block, first, p, std::min(strip, in.P - p), padded_state);
    }
  }
}

int64_t ScanScratchFloatsTarget(int N) { return 2 * kBlock * RowStride(N) + int64_t{N} * 2 * kMaxLanes; }

HWY_ATTR void SoftplusClampRowTarget(const float* raw, const float* bias, float low, float high,
                                     int64_t count, float* out) {
  const D d;
  const int64_t L = static_cast<int64_t>(hn::Lanes(d));
  const V lo = hn::Set(d, low), hi = hn::Set(d, high);
  const auto softplus = [&](V v) HWY_ATTR {
    const V soft = hn::Log1p(d, hn::Exp(d, hn::Min(v, hn::Set(d, 20.0f))));
    const V clamped = hn::Min(hn::Max(hn::IfThenElse(hn::Gt(v, hn::Set(d, 20.0f)), v, soft), lo), hi);
    return hn::IfThenElse(hn::IsNaN(v), v, clamped);  // Exp and Min lose NaN
  };
  int64_t i = 0;
  for (; i + L <= count; i += L) {
    hn::StoreU(softplus(hn::Add(hn::LoadU(d, raw + i), hn::LoadU(d, bias + i))), d, out + i);
  }
  if (i < count) {
    alignas(64) float sum[kMaxLanes] = {}, result[kMaxLanes];
    for (int64_t j = i; j < count; ++j) sum[j - i] = raw[j] + bias[j];
    hn::Store(softplus(hn::Load(d, sum)), d, result);
    std::copy_n(result, count - i, out + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(ScanHeadTarget);
HWY_EXPORT(ScanScratchFloatsTarget);
HWY_EXPORT(SoftplusClampRowTarget);
}  // namespace

int64_t ScanScratchFloats(int N) { return HWY_DYNAMIC_DISPATCH(ScanScratchFloatsTarget)(N); }

void ScanHead(const HeadScan& in, float* scratch) { HWY_DYNAMIC_DISPATCH(ScanHeadTarget)(in, scratch); }

void SoftplusClampRow(const float* raw, const float* bias, float low, float high, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(SoftplusClampRowTarget)(raw, bias, low, high, count, out);
}

}  // namespace ghost
#endif  // HWY_ONCE
