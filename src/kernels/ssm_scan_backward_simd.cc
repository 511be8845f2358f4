// The backward recurrence in tiles of two channels by two vectors of p: within a tile the states of the chunk
// are computed forward into a history of 8 KB, then gamma runs back over it in registers. Sums over p (db,
// dc) stay vectors, one per token and channel, until all strips of p have been added.
#include "kernels/ssm_scan_backward_simd.h"

#include <algorithm>

#include "kernels/ssm_scan_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ssm_scan_backward_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, once per target.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kChunk = static_cast<int>(kScanChunk);
constexpr int kMaxLanes = 16;
constexpr int kChannels = 2;  // of a tile

using D = hn::CappedTag<float, kMaxLanes>;
using V = hn::Vec<D>;

HWY_INLINE int NumLanes() { return static_cast<int>(hn::Lanes(D())); }

// What all tiles of a chunk share. Strips hold two vectors of p, padded with zeros: (strips, kChunk, 2
// vectors).
struct Chunk {
  float dt[kChunk + kMaxLanes];
  float decay[kChunk + kMaxLanes];  // exp(dt * a)
  float *x, *dy;
  float* dx;  // sum_n gamma b so far
  alignas(
      64) float through_decay[kChunk * kMaxLanes];  // (kChunk, 1 vector): sum_n,p gamma_t state_{t-1} so far
};

// What a tile needs besides: two channels, over all strips.
struct Tile {
  alignas(64) float states[(kChunk + 1) * kChannels * 2 * kMaxLanes];  // (kChunk + 1, channel, 2 vectors)
  alignas(64) float db[kChunk * kChannels * kMaxLanes];                // (kChunk, channel, 1 vector)
  alignas(64) float dc[kChunk * kChannels * kMaxLanes];
  float b[kChunk * kChannels], c[kChunk * kChannels], scaled_b[kChunk * kChannels];  // scaled: dt * b
};

HWY_ATTR void PackChunk(const HeadChunk& in, Chunk& chunk) {
  const D d;
  const int L = NumLanes(), width = 2 * L;
  for (int t = 0; t < in.length; ++t) chunk.dt[t] = in.dt[t * in.dt_stride];
  for (int t = in.length; t < in.length + kMaxLanes; ++t) chunk.dt[t] = 0;
  for (int t = 0; t < in.length; t += L) {
    hn::StoreU(hn::Exp(d, hn::Mul(hn::LoadU(d, chunk.dt + t), hn::Set(d, in.a))), d, chunk.decay + t);
  }
  std::fill_n(chunk.through_decay, kChunk * kMaxLanes, 0.0f);
  for (int p = 0, at = 0; p < in.P; p += width) {
    const int count = std::min(width, in.P - p);
    for (int t = 0; t < in.length; ++t, at += width) {
      std::fill(std::copy_n(in.x + t * in.x_stride + p, count, chunk.x + at), chunk.x + at + width, 0.0f);
      std::fill(std::copy_n(in.dy + t * in.dy_stride + p, count, chunk.dy + at), chunk.dy + at + width, 0.0f);
      std::fill_n(chunk.dx + at, width, 0.0f);
    }
  }
}

// Rows of a strip of the (N, P) matrices, the last strip through a padded copy.
HWY_INLINE void LoadStrip(const float* row, int width, V& v0, V& v1) {
  const D d;
  const int L = NumLanes();
  alignas(64) float padded[2 * kMaxLanes];
  if (width < 2 * L) {
    std::fill(std::copy_n(row, width, padded), padded + 2 * L, 0.0f);
    row = padded;
  }
  v0 = hn::LoadU(d, row);
  v1 = hn::LoadU(d, row + L);
}

HWY_INLINE void StoreStrip(V v0, V v1, float* row, int width) {
  const D d;
  const int L = NumLanes();
  alignas(64) float padded[2 * kMaxLanes];
  float* out = width < 2 * L ? padded : row;
  hn::StoreU(v0, d, out);
  hn::StoreU(v1, d, out + L);
  if (width < 2 * L) std::copy_n(padded, width, row);
}

// The states of kCount channels before and after every token.
template <int kCount>
HWY_INLINE void FillStates(const HeadChunk& in, const Chunk& chunk, int n, int p, const float* HWY_RESTRICT x,
                           Tile& tile) {
  const D d;
  const int L = NumLanes(), width = std::min(2 * L, in.P - p);
  V h00, h01, h10 = hn::Zero(d), h11 = h10;
  LoadStrip(in.state + n * in.P + p, width, h00, h01);
  if constexpr (kCount > 1) LoadStrip(in.state + (n + 1) * in.P + p, width, h10, h11);
  float* HWY_RESTRICT out = tile.states;
  const float* HWY_RESTRICT b = tile.scaled_b;
  const auto store = [&]() HWY_ATTR {
    hn::Store(h00, d, out);
    hn::Store(h01, d, out + L);
    if constexpr (kCount > 1) {
      hn::Store(h10, d, out + 2 * L);
      hn::Store(h11, d, out + 3 * L);
    }
    out += kChannels * 2 * L;
  };
  store();
  for (int t = 0; t < in.length; ++t, x += 2 * L, b += kChannels) {
    const V decay = hn::Set(d, chunk.decay[t]), x0 = hn::LoadU(d, x), x1 = hn::LoadU(d, x + L);
    const V b0 = hn::Set(d, b[0]);
    h00 = hn::MulAdd(decay, h00, hn::Mul(b0, x0));  // one operation between two tokens, not two
    h01 = hn::MulAdd(decay, h01, hn::Mul(b0, x1));
    if constexpr (kCount > 1) {
      const V b1 = hn::Set(d, b[1]);
      h10 = hn::MulAdd(decay, h10, hn::Mul(b1, x0));
      h11 = hn::MulAdd(decay, h11, hn::Mul(b1, x1));
    }
    store();
  }
}

// One token of one channel: gamma comes in as dL/dstate of the token behind, whose decay is `next_decay`, and
// leaves as this token's.
HWY_INLINE void StepBack(float b_n, float c_n, V next_decay, V x0, V x1, V dy0, V dy1,
                         const float* HWY_RESTRICT before, const float* HWY_RESTRICT after,
                         float* HWY_RESTRICT db, float* HWY_RESTRICT dc, V& gamma0, V& gamma1, V& dx0, V& dx1,
                         V& through_decay) {
  const D d;
  const int L = NumLanes();
  const V b = hn::Set(d, b_n), c = hn::Set(d, c_n);
  gamma0 = hn::MulAdd(next_decay, gamma0, hn::Mul(dy0, c));
  gamma1 = hn::MulAdd(next_decay, gamma1, hn::Mul(dy1, c));
  hn::Store(hn::MulAdd(dy0, hn::Load(d, after), hn::MulAdd(dy1, hn::Load(d, after + L), hn::Load(d, dc))), d,
            dc);
  hn::Store(hn::MulAdd(x0, gamma0, hn::MulAdd(x1, gamma1, hn::Load(d, db))), d, db);
  dx0 = hn::MulAdd(gamma0, b, dx0);
  dx1 = hn::MulAdd(gamma1, b, dx1);
  through_decay = hn::MulAdd(gamma0, hn::Load(d, before), through_decay);
  through_decay = hn::MulAdd(gamma1, hn::Load(d, before + L), through_decay);
}

template <int kCount>
HWY_INLINE void RunBack(const HeadChunk& in, Chunk& chunk, int n, int p, int64_t strip, Tile& tile) {
  const D d;
  const int L = NumLanes(), width = std::min(2 * L, in.P - p);
  float *row0 = in.gamma + n * in.P + p, *row1 = row0 + in.P;
  V g00, g01, g10 = hn::Zero(d), g11 = g10;
  LoadStrip(row0, width, g00, g01);
  if constexpr (kCount > 1) LoadStrip(row1, width, g10, g11);
  V next_decay = hn::Set(d, 1.0f);  // what comes in has been through the next chunk's first
  for (int t = in.length - 1; t >= 0; --t) {
    const float *x = chunk.x + strip + t * 2 * L, *dy = chunk.dy + strip + t * 2 * L;
    float *dx = chunk.dx + strip + t * 2 * L, *through = chunk.through_decay + t * L;
    const float *before = tile.states + t * kChannels * 2 * L, *after = before + kChannels * 2 * L;
    float *db = tile.db + t * kChannels * L, *dc = tile.dc + t * kChannels * L;
    const float *b = tile.b + t * kChannels, *c = tile.c + t * kChannels;
    const V x0 = hn::LoadU(d, x), x1 = hn::LoadU(d, x + L), dy0 = hn::LoadU(d, dy),
            dy1 = hn::LoadU(d, dy + L);
    V dx0 = hn::LoadU(d, dx), dx1 = hn::LoadU(d, dx + L), sum = hn::Load(d, through);
    StepBack(b[0], c[0], next_decay, x0, x1, dy0, dy1, before, after, db, dc, g00, g01, dx0, dx1, sum);
    if constexpr (kCount > 1) {
      V second = hn::Zero(d);  // apart, or four additions would wait for each other
      StepBack(b[1], c[1], next_decay, x0, x1, dy0, dy1, before + 2 * L, after + 2 * L, db + L, dc + L, g10,
               g11, dx0, dx1, second);
      sum = hn::Add(sum, second);
    }
    hn::StoreU(dx0, d, dx);
    hn::StoreU(dx1, d, dx + L);
    hn::Store(sum, d, through);
    next_decay = hn::Set(d, chunk.decay[t]);
  }
  StoreStrip(hn::Mul(next_decay, g00), hn::Mul(next_decay, g01), row0, width);
  if constexpr (kCount > 1) StoreStrip(hn::Mul(next_decay, g10), hn::Mul(next_decay, g11), row1, width);
}

// kCount channels from n on, all of p.
template <int kCount>
HWY_ATTR void ChannelsBack(const HeadChunk& in, Chunk& chunk, int n, Tile& tile) {
  const D d;
  const int L = NumLanes();
  for (int t = 0; t < in.length; ++t) {
    for (int i = 0; i < kCount; ++i) {
      tile.b[t * kChannels + i] = in.b[t * in.b_stride + n + i];
      tile.scaled_b[t * kChannels + i] = chunk.dt[t] * tile.b[t * kChannels + i];
      tile.c[t * kChannels + i] = in.c[t * in.c_stride + n + i];
    }
  }
  std::fill_n(tile.db, in.length * kChannels * L, 0.0f);
  std::fill_n(tile.dc, in.length * kChannels * L, 0.0f);
  int64_t strip = 0;
  for (int p = 0; p < in.P; p += 2 * L, strip += int64_t{in.length} * 2 * L) {
    FillStates<kCount>(in, chunk, n, p, chunk.x + strip, tile);
    RunBack<kCount>(in, chunk, n, p, strip, tile);
  }
  for (int t = 0; t < in.length; ++t) {
    for (int i = 0; i < kCount; ++i) {
      const int at = (t * kChannels + i) * L;
      in.db[t * in.N + n + i] = chunk.dt[t] * hn::GetLane(hn::SumOfLanes(d, hn::Load(d, tile.db + at)));
      in.dc[t * in.N + n + i] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, tile.dc + at)));
    }
  }
}

// What is left once sum_n gamma b is complete: dx, ddt and the sums of a head.
HWY_ATTR void FinishChunk(const HeadChunk& in, const Chunk& chunk) {
  const D d;
  const int L = NumLanes(), width = 2 * L;
  for (int t = 0; t < in.length; ++t) {
    V input = hn::Zero(d), skip = input;
    for (int p = 0, at = t * width; p < in.P; p += width, at += in.length * width) {
      const int count = std::min(width, in.P - p);
      V sums[2];
      for (int i = 0; i < 2; ++i) {
        const V x = hn::LoadU(d, chunk.x + at + i * L), dy = hn::LoadU(d, chunk.dy + at + i * L);
        const V sum = hn::LoadU(d, chunk.dx + at + i * L);
        input = hn::MulAdd(sum, x, input);
        skip = hn::MulAdd(dy, x, skip);
        sums[i] = hn::MulAdd(hn::Set(d, in.d), dy, hn::Mul(hn::Set(d, chunk.dt[t]), sum));
      }
      StoreStrip(sums[0], sums[1], in.dx + t * in.dx_stride + p, count);
    }
    const float decayed =
        chunk.decay[t] * hn::GetLane(hn::SumOfLanes(d, hn::Load(d, chunk.through_decay + t * L)));
    in.ddt[t * in.ddt_stride] = in.a * decayed + hn::GetLane(hn::SumOfLanes(d, input));
    *in.da += chunk.dt[t] * decayed;
    *in.dd += hn::GetLane(hn::SumOfLanes(d, skip));
  }
}

int64_t StripFloats(int P) { return int64_t{kChunk} * (P + 2 * kMaxLanes); }

int64_t ScanBackwardScratchFloatsTarget(int P) { return 3 * StripFloats(P); }

void ScanChunkBackwardTarget(const HeadChunk& in, float* scratch) {
  Chunk chunk;
  Tile tile;
  chunk.x = scratch;
  chunk.dy = chunk.x + StripFloats(in.P);
  chunk.dx = chunk.dy + StripFloats(in.P);
  PackChunk(in, chunk);
  int n = 0;
  for (; n + kChannels <= in.N; n += kChannels) ChannelsBack<kChannels>(in, chunk, n, tile);
  for (; n < in.N; ++n) ChannelsBack<1>(in, chunk, n, tile);
  FinishChunk(in, chunk);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(ScanBackwardScratchFloatsTarget);
HWY_EXPORT(ScanChunkBackwardTarget);
}  // namespace

int64_t ScanBackwardScratchFloats(int P) { return HWY_DYNAMIC_DISPATCH(ScanBackwardScratchFloatsTarget)(P); }
void ScanChunkBackward(const HeadChunk& in, float* scratch) {
  HWY_DYNAMIC_DISPATCH(ScanChunkBackwardTarget)(in, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
