#include "kernels/conv/conv1d_backward.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/conv/conv1d_simd.h"
#include "kernels/simd/row_backward_simd.h"
#include "kernels/simd/scratch.h"

namespace ghost {

void CausalConvSiluBackward(ConstView in, const ConvWeights& weights, ConstView dout,
                            const ConvGradients& gradients) {
  const int64_t L = in.rows, C = in.cols, W = weights.width;
  GHOST_CHECK(W >= 1 && dout.rows == L && dout.cols == C && gradients.in.rows == L && gradients.in.cols == C);
  const auto channels = [&](int64_t task) {
    const int64_t begin = task * kConvChannels, count = std::min(kConvChannels, C - begin);
    float* scratch = ThreadScratch(0, 2 * (W + 1) * kConvChannels);
    ConvBackwardChannels(in, weights, dout, gradients, begin, count, scratch);
  };
  ParallelFor((C + kConvChannels - 1) / kConvChannels, channels, /*work=*/L * C * (3 * W + 12));
}

}  // namespace ghost
