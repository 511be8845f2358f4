// A model is a list of layers of a few kinds. Kinds differ behind this interface, so that hybrids (attention,
// shared blocks) join without conditions in the forward pass.
#pragma once

#include <span>

#include "kernels/sequence_span.h"
#include "kernels/ssm_scan.h"
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

 private:
  Buffer normed_, zxbcdt_, xbc_, dt_, y_;
};

// One call of one layer. `sequences` partition the rows of `hidden` and carry this layer's states.
struct LayerCall {
  View hidden;  // (T, M): the residual stream, updated in place
  std::span<const SequenceSpan> sequences;
  Scratch& scratch;
  const ScanStats* stats = nullptr;  // saliency sums, or null
};

struct MambaBlock;

class Layer {
 public:
  virtual ~Layer() = default;
  virtual void Forward(const LayerCall& call) const = 0;
  // The Mamba2 mixer of this layer, which pruning works on; null for kinds that have none.
  virtual const MambaBlock* mixer() const { return nullptr; }
};

}  // namespace ghost
