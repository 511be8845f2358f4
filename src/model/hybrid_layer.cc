#include "model/hybrid_layer.h"

#include "model/block_forward.h"

namespace ghost {

void HybridLayer::Forward(const LayerCall& call) const {
  const int64_t T = call.hidden.rows;
  const View input = call.scratch.mixer_input(T, block_.dims.d_model);
  ForwardShared(*part_.block, part_.own, call.hidden, call.embedded, call.attention,
                call.scratch.shared().Activations(*part_.block, T), input);  // (T, M)
  ForwardBlock(block_, input, call.hidden, call.sequences, ScratchActivations(call.scratch, block_.dims, T),
               call.stats);
}

}  // namespace ghost
