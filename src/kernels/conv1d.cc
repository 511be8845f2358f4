#include "kernels/conv1d.h"

namespace ghost {

void CausalConvSilu(ConstView in, const ConvWeights& weights, std::span<const SequenceSpan> sequences,
                    View out) {
  CausalConvSiluRef(in, weights, sequences, out);
}

}  // namespace ghost
