// The backward scan of one chunk as products of small matrices: inside a chunk the
// recurrence is unrolled. Let
//   xs_s  = dt_s x_s
//   L_ts  = prod_{s<r<=t} exp(dt_r a), the decay from s to t
//   e_t   = the decay from before the chunk to t
//   f_s   = the decay from s to the end of the chunk
//   S     = the state before the chunk
//   gamma = dL/dstate after the chunk
// Then
//   y_t     = sum_{s<=t} L_ts (c_t . b_s) xs_s + e_t c_t S
//   dxs_s   = sum_{t>=s} L_ts (c_t . b_s) dy_t + f_s b_s gamma
//   dG_ts   = L_ts (dy_t . xs_s), summed over heads before the products dc = dG b and db = dG^T c
//   dc_t   += e_t S dy_t, through the states
//   db_s   += f_s gamma xs_s, through the states
//   dL/dS   = (e of the last token) gamma + sum_t e_t c_t dy_t
// The exponent of decay r is part of every path across it, from s < r to t >= r. The paths are summed
// directly, never as differences of running sums, which would cancel where decays are strong.
#include "kernels/scan/ssm_scan_backward_simd.h"

#include <algorithm>

#include "kernels/scan/ssm_scan_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scan/ssm_scan_backward_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/matmul/block_product-inl.h"
#include "kernels/simd/transpose-inl.h"
#include "kernels/simd/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int Q = static_cast<int>(kScanChunk);
constexpr int kRow = Q + 16;  // row length of scratch with a column per token; spreads rows over cache sets

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
static_assert(Q % 16 == 0);  // rows of Q floats are whole vectors

HWY_INLINE int NumLanes() { return static_cast<int>(hn::Lanes(D())); }

// Rows of P floats in scratch.
int PaddedRow(int P) { return (P + 15) / 16 * 16 + 16; }

// Per token of a chunk, for one head.
struct Decays {
  alignas(64) float dt[Q], step[Q];            // step: exp(dt a)
  alignas(64) float from_start[Q], to_end[Q];  // e_t, f_s
  alignas(64) float through_later[Q];          // dL/d(exponent) of paths from S to y_t
  float into_state[Q];                         // of paths from xs_s into the state after the chunk
  float inside[Q];                             // of paths within the chunk, already for decay r
};

HWY_INLINE float Dot(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t count) {
  const D d;
  const int L = NumLanes();
  V sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + L <= count; i += L) sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

// ---- Before the heads

int64_t PrepareGroupScratchFloatsTarget(int N) { return int64_t{N} * kRow; }

HWY_ATTR void PrepareGroupChunkTarget(const GroupChunk& group, float* scratch) {
  TransposeBlock(group.b, group.b_stride, group.length, group.N, scratch, kRow);
  TransposeBlock(group.c, group.c_stride, group.length, group.N, group.transposed_c, Q);
  BlockProduct({group.length, group.length, group.N, Triangle::kResult}, {group.c, group.c_stride, 1},
               scratch, kRow, group.gram, Q);
}

// ---- One head

HWY_INLINE void FillDecays(const HeadChunk& in, Decays& decays) {
  const D d;
  const int length = in.group.length;
  std::fill_n(decays.dt, Q, 0.0f);
  for (int t = 0; t < length; ++t) decays.dt[t] = in.dt[t * in.dt_stride];
  for (int t = 0; t < length; t += NumLanes()) {
    hn::Store(hn::Exp(d, hn::Mul(hn::Load(d, decays.dt + t), hn::Set(d, in.a))), d, decays.step + t);
  }
  float product = 1;
  for (int t = 0; t < length; ++t) decays.from_start[t] = product *= decays.step[t];
  product = 1;
  for (int s = length - 1; s >= 0; --s) decays.to_end[s] = product, product *= decays.step[s];
}

// From dgram = dy_t . x_s and the group's gram: dgram = dG (zero for s > t) and weights = L_ts gram_ts.
HWY_INLINE void WeighPairs(const HeadChunk& in, const Decays& decays, float* HWY_RESTRICT weights) {
  const D d;
  const int L = NumLanes();
  alignas(64) float decay[Q] = {};  // row t of L, from row t - 1
  for (int t = 0; t < in.group.length; ++t) {
    const V step = hn::Set(d, decays.step[t]);
    const float* HWY_RESTRICT gram = in.group.gram + t * Q;
    float *HWY_RESTRICT dgram = in.dgram + t * Q, *HWY_RESTRICT row = weights + t * kRow;
    int s = 0;
    for (; s < t; s += L) hn::Store(hn::Mul(step, hn::Load(d, decay + s)), d, decay + s);
    decay[t] = 1;
    for (s = 0; s <= t; s += L) {
      const V factor = hn::Load(d, decay + s);
      hn::Store(hn::Mul(hn::Mul(factor, hn::Load(d, decays.dt + s)), hn::LoadU(d, dgram + s)), d, dgram + s);
      hn::Store(hn::Mul(factor, hn::LoadU(d, gram + s)), d, row + s);
    }
    std::fill(dgram + s, dgram + Q, 0.0f);
    std::fill(row + s, row + Q, 0.0f);
  }
}

// inside[r] = sum over s < r <= t of dG_ts gram_ts.
HWY_INLINE void SumPairs(const HeadChunk& in, Decays& decays) {
  const D d;
  const int L = NumLanes();
  alignas(64) float later[Q] = {};  // per s: the sum over t >= r
  for (int r = in.group.length - 1; r >= 0; --r) {
    const float *gram = in.group.gram + r * Q, *dgram = in.dgram + r * Q;
    V total = hn::Zero(d);
    for (int s = 0; s < r; s += L) {
      const V sum = hn::MulAdd(hn::LoadU(d, gram + s), hn::LoadU(d, dgram + s), hn::Load(d, later + s));
      hn::Store(sum, d, later + s);
      total = hn::Add(total,
                      s + L <= r ? sum : hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(r - s)), sum));
    }
    decays.inside[r] = hn::GetLane(hn::SumOfLanes(d, total));
  }
}

// Contributions to db and dc that pass through the states. x and dy: (P, Q), transposed.
HWY_INLINE void ThroughStates(const HeadChunk& in, const float* transposed_x, const float* transposed_dy,
                              Decays& decays) {
  const D d;
  const int length = in.group.length, N = in.group.N, L = NumLanes();
  BlockProduct({N, length, in.P}, {in.gamma, in.P, 1}, transposed_x, kRow, in.transposed_db, Q);
  BlockProduct({N, length, in.P}, {in.state, in.P, 1}, transposed_dy, kRow, in.transposed_dc, Q);
  for (int t = 0; t < length; t += L) {
    V sum = hn::Zero(d);
    for (int n = 0; n < N; ++n) {
      sum = hn::MulAdd(hn::LoadU(d, in.group.transposed_c + n * Q + t),
                       hn::LoadU(d, in.transposed_dc + n * Q + t), sum);
    }
    hn::Store(sum, d, decays.through_later + t);
  }
}

// The gradient with respect to the inputs dt x: (length, row).
HWY_INLINE void InputGradients(const HeadChunk& in, const float* weights, const float* dy, int64_t row,
                               Decays& decays, float* dxs) {
  const int length = in.group.length;
  BlockProduct({length, in.P, in.group.N}, {in.group.b, in.group.b_stride, 1}, in.gamma, in.P, dxs, row);
  for (int s = 0; s < length; ++s) {
    ScaleRow(dxs + s * row, decays.to_end[s], in.P, dxs + s * row);
    decays.into_state[s] = decays.dt[s] * Dot(in.x + s * in.x_stride, dxs + s * row, in.P);
  }
  BlockProduct({length, in.P, length, Triangle::kLeftTransposed, /*add=*/true}, {weights, 1, kRow}, dy, row,
               dxs, row);
}

// The remaining gradients: dx, ddt and the sums of a head. `all_through` belongs to the paths from S to the
// state after the chunk.
HWY_INLINE void FinishHead(const HeadChunk& in, const Decays& decays, float all_through, const float* dxs,
                           int64_t row) {
  const D d;
  const int length = in.group.length, L = NumLanes();
  alignas(64) double exponent[Q];  // dL/d(dt_r a)
  double later = all_through, earlier = 0;
  for (int r = length - 1; r >= 0; --r) exponent[r] = (later += decays.through_later[r]);
  for (int r = 0; r < length; ++r) {
    exponent[r] += earlier + decays.inside[r];
    earlier += decays.into_state[r];
  }
  for (int t = 0; t < length; ++t) {
    const float *x = in.x + t * in.x_stride, *dy = in.dy + t * in.dy_stride, *sum = dxs + t * row;
    float* dx = in.dx + t * in.dx_stride;
    *in.dd += Dot(dy, x, in.P);
    *in.da += decays.dt[t] * exponent[t];
    in.ddt[t * in.ddt_stride] = static_cast<float>(in.a * exponent[t]) + Dot(sum, x, in.P);
    const V skip = hn::Set(d, in.d), dt = hn::Set(d, decays.dt[t]);
    int p = 0;
    for (; p + L <= in.P; p += L) {
      hn::StoreU(hn::MulAdd(skip, hn::LoadU(d, dy + p), hn::Mul(dt, hn::LoadU(d, sum + p))), d, dx + p);
    }
    for (; p < in.P; ++p) dx[p] = in.d * dy[p] + decays.dt[t] * sum[p];
  }
}

int64_t ScanBackwardScratchFloatsTarget(int P) {
  return int64_t{2} * P * kRow + int64_t{3} * Q * PaddedRow(P) + int64_t{Q} * kRow;
}

HWY_ATTR void ScanChunkBackwardTarget(const HeadChunk& in, float* scratch) {
  const D d;
  const int length = in.group.length, L = NumLanes(), P = in.P;
  const int64_t row = PaddedRow(P), states = int64_t{in.group.N} * P;
  float *transposed_x = scratch, *transposed_dy = transposed_x + int64_t{P} * kRow;  // (P, kRow)
  float *dy = transposed_dy + int64_t{P} * kRow, *scaled_dy = dy + Q * row;          // (Q, row)
  float *dxs = scaled_dy + Q * row, *weights = dxs + Q * row;                        // weights: (Q, kRow)
  Decays decays;
  FillDecays(in, decays);
  for (int t = 0; t < length; ++t) {
    std::copy_n(in.dy + t * in.dy_stride, P, dy + t * row);
    ScaleRow(dy + t * row, decays.from_start[t], P, scaled_dy + t * row);
  }
  TransposeBlock(in.x, in.x_stride, length, P, transposed_x, kRow);
  TransposeBlock(scaled_dy, row, length, P, transposed_dy, kRow);
  BlockProduct({length, length, P, Triangle::kResult}, {dy, row, 1}, transposed_x, kRow, in.dgram, Q);
  WeighPairs(in, decays, weights);
  SumPairs(in, decays);
  for (int s = 0; s < length; s += L) {
    const V factor = hn::Mul(hn::Load(d, decays.to_end + s), hn::Load(d, decays.dt + s));
    for (int p = 0; p < P; ++p) {
      float* at = transposed_x + p * kRow + s;
      hn::Store(hn::Mul(factor, hn::Load(d, at)), d, at);
    }
  }
  ThroughStates(in, transposed_x, transposed_dy, decays);
  InputGradients(in, weights, dy, row, decays, dxs);
  const float whole = decays.from_start[length - 1];
  FinishHead(in, decays, whole * Dot(in.gamma, in.state, states), dxs, row);
  ScaleRow(in.gamma, whole, states, in.gamma);
  BlockProduct({in.group.N, P, length, Triangle::kNone, /*add=*/true}, {in.group.transposed_c, Q, 1},
               scaled_dy, row, in.gamma, P);
}

// ---- After the heads

constexpr int kChannelRow = kGradientChannels + 16;

int64_t GroupGradientsScratchFloatsTarget() { return Q * kRow + kGradientChannels * kRow + Q * kChannelRow; }

// out[r][s] = the sum over heads, in head order, of the matrices that start at `first`; s in whole vectors.
HWY_INLINE void SumHeads(const float* first, int64_t head_stride, int heads, int rows, int length,
                         float* out) {
  const D d;
  for (int r = 0; r < rows; ++r) {
    for (int s = 0; s < length; s += NumLanes()) {
      const float* at = first + r * Q + s;
      V sum = hn::LoadU(d, at);
      for (int h = 1; h < heads; ++h) sum = hn::Add(sum, hn::LoadU(d, at + h * head_stride));
      hn::Store(sum, d, out + r * kRow + s);
    }
  }
}

HWY_ATTR void AddGroupGradientsTarget(const GroupGradients& in, float* scratch) {
  const GroupChunk& group = in.group;
  const int length = group.length, count = in.count;
  float *dgram = scratch, *sums = dgram + Q * kRow, *rows = sums + kGradientChannels * kRow;
  SumHeads(in.dgram, in.dgram_stride, in.heads, length, length, dgram);
  // `other` is c for db and b for dc: a copy whose rows are spread over cache sets.
  const auto gradient = [&](const float* transposed, const float* other, int64_t stride, Triangle triangle,
                            LeftFactor left, float* out, int64_t out_stride) HWY_ATTR {
    SumHeads(transposed + in.first * Q, in.transposed_stride, in.heads, count, length, sums);
    TransposeBlock(sums, kRow, count, length, out + in.first, out_stride);
    for (int t = 0; t < length; ++t)
      std::copy_n(other + t * stride + in.first, count, rows + t * kChannelRow);
    BlockProduct({length, count, length, triangle, /*add=*/true}, left, rows, kChannelRow, out + in.first,
                 out_stride);
  };
  gradient(in.transposed_db, group.c, group.c_stride, Triangle::kLeftTransposed, {dgram, 1, kRow}, in.db,
           in.db_stride);
  gradient(in.transposed_dc, group.b, group.b_stride, Triangle::kLeft, {dgram, kRow, 1}, in.dc, in.dc_stride);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(PrepareGroupScratchFloatsTarget);
HWY_EXPORT(PrepareGroupChunkTarget);
HWY_EXPORT(ScanBackwardScratchFloatsTarget);
HWY_EXPORT(ScanChunkBackwardTarget);
HWY_EXPORT(GroupGradientsScratchFloatsTarget);
HWY_EXPORT(AddGroupGradientsTarget);
}  // namespace

int64_t PrepareGroupScratchFloats(int N) { return HWY_DYNAMIC_DISPATCH(PrepareGroupScratchFloatsTarget)(N); }
void PrepareGroupChunk(const GroupChunk& group, float* scratch) {
  HWY_DYNAMIC_DISPATCH(PrepareGroupChunkTarget)(group, scratch);
}
int64_t ScanBackwardScratchFloats(int P) { return HWY_DYNAMIC_DISPATCH(ScanBackwardScratchFloatsTarget)(P); }
void ScanChunkBackward(const HeadChunk& in, float* scratch) {
  HWY_DYNAMIC_DISPATCH(ScanChunkBackwardTarget)(in, scratch);
}
int64_t GroupGradientsScratchFloats() { return HWY_DYNAMIC_DISPATCH(GroupGradientsScratchFloatsTarget)(); }
void AddGroupGradients(const GroupGradients& in, float* scratch) {
  HWY_DYNAMIC_DISPATCH(AddGroupGradientsTarget)(in, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
