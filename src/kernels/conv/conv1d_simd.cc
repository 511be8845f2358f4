#include "kernels/conv/conv1d_simd.h"

#include <algorithm>

#include "kernels/simd/prefetch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv1d_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Once per target.
#include "kernels/simd/silu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// Lanes run over channels. taps: (W, kConvChannels), followed by the bias.
HWY_ATTR void ConvSequence(ConstView in, int64_t W, const SequenceSpan& sequence, View out, int64_t begin,
                           int64_t count, const float* taps) {
  const D d;
  const int64_t C = in.cols, L = static_cast<int64_t>(hn::Lanes(d));
  const float* bias = taps + W * kConvChannels;
  // The row of token t of the sequence; a negative t reads the history.
  const auto row = [&](int64_t t) {
    return (t < 0 ? sequence.conv + (W - 1 + t) * C : in.Row(sequence.begin + t)) + begin;
  };
  for (int64_t t = 0; t < sequence.length; ++t) {
    float* out_row = out.Row(sequence.begin + t) + begin;
    if (t + kRowsAhead < sequence.length) {
      PrefetchFloats(in.Row(sequence.begin + t + kRowsAhead) + begin, count);
      PrefetchFloats(out.Row(sequence.begin + t + kRowsAhead) + begin, count);
    }
    int64_t c = 0;
    for (; c + L <= count; c += L) {
      V sum = hn::Load(d, bias + c);
      for (int64_t w = 0; w < W; ++w) {
        sum = hn::MulAdd(hn::Load(d, taps + w * kConvChannels + c), hn::LoadU(d, row(t - (W - 1) + w) + c),
                         sum);
      }
      hn::StoreU(Silu(d, sum), d, out_row + c);
    }
    for (; c < count; ++c) {
      float sum = bias[c];
      for (int64_t w = 0; w < W; ++w) sum += taps[w * kConvChannels + c] * row(t - (W - 1) + w)[c];
      out_row[c] = hn::GetLane(Silu(d, hn::Set(d, sum)));
    }
  }
  // In ascending order: each row is read before it is overwritten.
  for (int64_t w = 0; w < W - 1; ++w) {
    const float* source = row(sequence.length - (W - 1) + w);
    float* history = sequence.conv + w * C + begin;
    if (source != history) std::copy_n(source, count, history);
  }
}

// One token: the history moves up by a row while it is read, so each of its lines is touched once.
HWY_ATTR void ConvToken(ConstView in, int64_t W, const SequenceSpan& sequence, View out, int64_t begin,
                        int64_t count, const float* taps) {
  const D d;
  const int64_t C = in.cols, L = static_cast<int64_t>(hn::Lanes(d));
  const float* bias = taps + W * kConvChannels;
  const float* token = in.Row(sequence.begin) + begin;
  float* history = sequence.conv + begin;
  float* out_row = out.Row(sequence.begin) + begin;
  int64_t c = 0;
  for (; c + L <= count; c += L) {
    V sum = hn::Load(d, bias + c);
    float* row = history + c;
    for (int64_t w = 0; w < W - 1; ++w, row += C) {
      const V value = hn::LoadU(d, row);
      sum = hn::MulAdd(hn::Load(d, taps + w * kConvChannels + c), value, sum);
      if (w > 0) hn::StoreU(value, d, row - C);
    }
    const V last = hn::LoadU(d, token + c);
    sum = hn::MulAdd(hn::Load(d, taps + (W - 1) * kConvChannels + c), last, sum);
    if (W > 1) hn::StoreU(last, d, row - C);
    hn::StoreU(Silu(d, sum), d, out_row + c);
  }
  for (; c < count; ++c) {
    float sum = bias[c];
    for (int64_t w = 0; w < W - 1; ++w) {
      sum += taps[w * kConvChannels + c] * history[w * C + c];
      if (w > 0) history[(w - 1) * C + c] = history[w * C + c];
    }
    sum += taps[(W - 1) * kConvChannels + c] * token[c];
    if (W > 1) history[(W - 2) * C + c] = token[c];
    out_row[c] = hn::GetLane(Silu(d, hn::Set(d, sum)));
  }
}

constexpr size_t kSequencesAhead = 2;

// The history of a sequence that is needed soon: each row is in another page.
void PrefetchHistory(const SequenceSpan& sequence, int64_t W, int64_t C, int64_t begin, int64_t count) {
  for (int64_t w = 0; w < W - 1; ++w) PrefetchFloats(sequence.conv + w * C + begin, count);
}

void ConvChannelsTarget(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences,
                        View out, int64_t begin, int64_t count, float* scratch) {
  const int64_t W = weights.width;
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t w = 0; w < W; ++w) scratch[w * kConvChannels + c] = weights.taps[(begin + c) * W + w];
    scratch[W * kConvChannels + c] = weights.bias ? weights.bias[begin + c] : 0.0f;
  }
  for (size_t s = 0; s < sequences.size(); ++s) {
    if (sequences[s].length != 1) {
      ConvSequence(in, W, sequences[s], out, begin, count, scratch);
      continue;
    }
    if (s + kSequencesAhead < sequences.size())
      PrefetchHistory(sequences[s + kSequencesAhead], W, in.cols, begin, count);
    ConvToken(in, W, sequences[s], out, begin, count, scratch);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ghost {
namespace {
HWY_EXPORT(ConvChannelsTarget);
}  // namespace

void ConvChannels(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences, View out,
                  int64_t begin, int64_t count, float* scratch) {
  HWY_DYNAMIC_DISPATCH(ConvChannelsTarget)(in, weights, sequences, out, begin, count, scratch);
}

}  // namespace ghost
#endif  // HWY_ONCE
