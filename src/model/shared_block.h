// The transformer block that hybrid layers share: attention and MLP over the residual stream joined with the
// token embeddings. There is no residual path inside; the result only adds to what the mixer sees.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/config.h"
#include "model/key_value_cache.h"
#include "model/weights.h"
#include "tensor/matrix_buffer.h"

namespace ghost {

// Ready to run: matrices stay as stored (and mapped), the small vectors are float32.
struct SharedBlock {
  SharedBlockDims dims;
  int d_model = 0;
  float eps = 1e-5f;
  Tensor q, k, v, out, gate_up, down;
  std::vector<float> input_norm, mlp_norm, gate_up_bias, down_bias;
};

SharedBlock MakeSharedBlock(const SharedBlockWeights& weights, const ModelConfig& config);

// Where the steps leave their results, T rows each; a backward pass finds them there.
struct SharedActivations {
  View joined;      // (T, 2M): residual stream | embeddings
  View normed;      // (T, 2M)
  View q, k, v;     // (T, heads * d), position embedding applied to q and k
  View attended;    // (T, heads * d)
  View projected;   // (T, M)
  View mlp_normed;  // (T, M)
  View gate_up;     // (T, 2F)
  View gated;       // (T, F)
  View mlp_out;     // (T, M)
  View low;         // (T, rank): inside an adapter
};

// The memory behind SharedActivations; grows to the largest request and stays.
class SharedMemory {
 public:
  SharedActivations Activations(const SharedBlock& block, int64_t rows);

 private:
  Buffer joined_, normed_, q_, k_, v_, attended_, projected_, mlp_normed_, gate_up_, gated_, mlp_out_, low_;
};

// What the mixer of a hybrid layer sees: input = hidden + link * block(hidden, embedded), all (T, M).
// `sequences` partition the rows; their caches gain the new tokens.
void ForwardShared(const SharedBlock& block, const HybridWeights& own, ConstView hidden, ConstView embedded,
                   std::span<const AttentionSequence> sequences, const SharedActivations& act, View input);

}  // namespace ghost
