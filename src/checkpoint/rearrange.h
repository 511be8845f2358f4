// The same model in the arrangement of another file layout: projections joined or apart, experts stacked or
// apart, rotated rows in another order, factors inside the weights. Which arrangement a layout has is what
// its family says (Family::arrange); how to get from one to another is here, once for all.
#pragma once

#include "io/lazy_tensor.h"
#include "model/weights.h"

namespace ghost {

// A tensor of the new arrangement, made when it is written.
struct RearrangedTensor {
  // As its sources are stored, or F32 where factors multiply them.
  LazyTensor tensor;
  DType stored = DType::kF32;  // the type of the sources, for those who want to keep types
};

// `from` and `to` are arrangements of one model: equal layers and parts, all sizes the same. Tensors that do
// not change are not copied. Error(kUnsupported) if pieces of one tensor have different types.
ModelTensors<RearrangedTensor> Rearrange(const ModelConfig& from, const ModelWeights& weights,
                                         const ModelConfig& to);

}  // namespace ghost
