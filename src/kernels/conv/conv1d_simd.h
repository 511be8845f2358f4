// Vectorised convolution over a few channels. Internal to src/kernels.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/conv/conv1d.h"

namespace ghost {

inline constexpr int64_t kConvChannels = 64;  // per call, at most

// Channels [begin, begin + count) of all sequences. scratch: (W + 1) * kConvChannels floats, aligned.
void ConvChannels(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences, View out,
                  int64_t begin, int64_t count, float* scratch);

}  // namespace ghost
