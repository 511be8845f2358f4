#include <cmath>
#include <vector>

#include "kernels/conv/conv1d.h"

namespace ghost {

void CausalConvSiluRef(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences,
                       View out) {
  const int64_t C = in.cols, W = weights.width;
  for (const SequenceSpan& sequence : sequences) {
    for (int64_t c = 0; c < C; ++c) {
      // The channel's column of the sequence, history first: entry W-1+t is the input of token t.
      std::vector<float> column;
      for (int64_t w = 0; w < W - 1; ++w) column.push_back(sequence.conv[w * C + c]);
      for (int64_t t = 0; t < sequence.length; ++t) column.push_back(in.Row(sequence.begin + t)[c]);
      for (int64_t t = 0; t < sequence.length; ++t) {
        double sum = weights.bias ? weights.bias[c] : 0.0;
        for (int64_t w = 0; w < W; ++w) {
          sum += double{weights.taps[c * W + w]} * column[static_cast<size_t>(t + w)];
        }
        out.Row(sequence.begin + t)[c] = static_cast<float>(sum / (1.0 + std::exp(-sum)));
      }
      for (int64_t w = 0; w < W - 1; ++w) {
        sequence.conv[w * C + c] = column[static_cast<size_t>(sequence.length + w)];
      }
    }
  }
}

}  // namespace ghost
