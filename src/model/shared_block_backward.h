// The shared block of hybrid layers backward: gradients of what goes in. Its own weights get none: they are
// neither scored nor trained here.
#pragma once

#include <span>

#include "model/shared_block.h"

namespace ghost {

// Gradients of a shared block's activations. Grows to the largest request.
class SharedBackwardScratch {
 public:
  View dmlp_out(int64_t rows, int64_t cols) { return Grow(dmlp_out_, rows, cols); }
  View dgated(int64_t rows, int64_t cols) { return Grow(dgated_, rows, cols); }
  View dgate_up(int64_t rows, int64_t cols) { return Grow(dgate_up_, rows, cols); }
  View dprojected(int64_t rows, int64_t cols) { return Grow(dprojected_, rows, cols); }
  View dq(int64_t rows, int64_t cols) { return Grow(dq_, rows, cols); }
  View dk(int64_t rows, int64_t cols) { return Grow(dk_, rows, cols); }
  View dv(int64_t rows, int64_t cols) { return Grow(dv_, rows, cols); }
  View dattended(int64_t rows, int64_t cols) { return Grow(dattended_, rows, cols); }
  View djoined(int64_t rows, int64_t cols) { return Grow(djoined_, rows, cols); }
  View dnormed(int64_t rows, int64_t cols) { return Grow(dnormed_, rows, cols); }
  View part(int64_t rows, int64_t cols) { return Grow(part_, rows, cols); }
  View low(int64_t rows, int64_t cols) { return Grow(low_, rows, cols); }

 private:
  Buffer dmlp_out_, dgated_, dgate_up_, dprojected_, dq_, dk_, dv_, dattended_, djoined_, dnormed_, part_,
      low_;
};

// `act` and `sequences` as ForwardShared had and left them, without a past. dinput: (T, M), the gradient of
// its result. Adds to dhidden and dembedded, both (T, M), what comes through the block; what comes past it
// (input = hidden + ...) is the caller's.
void BackwardShared(const SharedBlock& block, const HybridWeights& own,
                    std::span<const AttentionSequence> sequences, const SharedActivations& act,
                    ConstView dinput, SharedBackwardScratch& scratch, View dhidden, View dembedded);

}  // namespace ghost
