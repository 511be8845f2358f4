#include "kernels/conv/conv1d.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/conv/conv1d_simd.h"
#include "kernels/simd/scratch.h"

namespace ghost {

void CausalConvSilu(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences,
                    View out) {
  const int64_t C = in.cols, W = weights.width;
  GHOST_CHECK(W >= 1 && out.rows == in.rows && out.cols == C);
  for (const SequenceSpan& sequence : sequences) {
    GHOST_CHECK(sequence.begin >= 0 && sequence.length >= 0 && sequence.begin + sequence.length <= in.rows);
    GHOST_CHECK(W == 1 || sequence.conv != nullptr);
  }
  const auto channels = [&](int64_t task) {
    const int64_t begin = task * kConvChannels, count = std::min(kConvChannels, C - begin);
    ConvChannels(in, weights, sequences, out, begin, count, ThreadScratch(0, (W + 1) * kConvChannels));
  };
  ParallelFor((C + kConvChannels - 1) / kConvChannels, channels, /*work=*/in.rows * C * (W + 8));  // 8: SiLU
}

}  // namespace ghost
