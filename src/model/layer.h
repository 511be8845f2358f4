// A model is a list of layers of a few kinds. Kinds differ behind this interface, so that hybrids (attention,
// shared blocks) join without conditions in the forward pass.
#pragma once

#include <span>

#include "kernels/scan/sequence_span.h"
#include "kernels/scan/ssm_scan.h"
#include "model/key_value_cache.h"
#include "model/shared_block.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

// Activations of one pass, reused by all layers; each buffer grows to the largest request and stays.
class Scratch {
 public:
  View normed(int64_t rows, int64_t cols) { return Grow(normed_, rows, cols); }
  View zxbcdt(int64_t rows, int64_t cols) { return Grow(zxbcdt_, rows, cols); }
  View xbc(int64_t rows, int64_t cols) { return Grow(xbc_, rows, cols); }
  View dt(int64_t rows, int64_t cols) { return Grow(dt_, rows, cols); }
  View y(int64_t rows, int64_t cols) { return Grow(y_, rows, cols); }
  View mixer_input(int64_t rows, int64_t cols) { return Grow(mixer_input_, rows, cols); }
  SharedMemory& shared() { return shared_; }

 private:
  Buffer normed_, zxbcdt_, xbc_, dt_, y_, mixer_input_;
  SharedMemory shared_;
};

// One call of one layer. `sequences` partition the rows of `hidden` and carry this layer's states.
struct LayerCall {
  View hidden;  // (T, M): the residual stream, updated in place
  std::span<const SequenceSpan> sequences;
  Scratch& scratch;
  const ScanStats* stats = nullptr;  // saliency sums, or null
  // For hybrid layers:
  ConstView embedded = {};                            // (T, M): the tokens' embeddings
  std::span<const AttentionSequence> attention = {};  // the sequences again, with this layer's caches
};

struct MambaBlock;

// What a hybrid layer has beside its mixer.
struct HybridPart {
  std::shared_ptr<const SharedBlock> block;
  HybridWeights own;
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual void Forward(const LayerCall& call) const = 0;
  // The Mamba2 mixer of this layer, which pruning works on; null for kinds that have none.
  virtual const MambaBlock* mixer() const { return nullptr; }
  // What adds to the mixer's input; null where the mixer sees the residual stream alone.
  virtual const HybridPart* hybrid() const { return nullptr; }
};

}  // namespace ghost
