// All parameters of a model as one run of float32 memory. Weights, gradients and both moments of the
// optimiser share the layout, which follows the one table of tensors (model/weights.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/gradients.h"
#include "model/weights.h"
#include "tensor/buffer.h"

namespace ghost {

struct ParameterRow {
  std::string name;  // as in a Hugging Face checkpoint
  Shape shape;
  int64_t offset = 0;   // floats, a multiple of a cache line; what lies between two tensors stays zero
  int64_t count = 0;    // elements
  bool decays = false;  // weight decay: matrices and the convolution, not norms, biases, A_log, D, dt_bias
  bool frozen = false;  // no gradient and no update
};

struct ParameterLayout {
  std::vector<ParameterRow> rows;
  int64_t size = 0;  // floats, padding included
};

ParameterLayout MakeParameterLayout(const ModelConfig& config);

// Freezes every tensor but those that `patterns` name: by a glob of the whole name (a pattern with *, ? or [)
// or by a part of it. Without patterns nothing is frozen. A pattern that fits no name is Error(kUsage).
void FreezeOthers(const std::vector<std::string>& patterns, ParameterLayout& layout);

// Tensors that alias `memory` (layout.size floats), for a Model. Whoever changes the floats afterwards must
// make the Model again: it has copies of the small vectors.
ModelWeights ViewWeights(const ParameterLayout& layout, const ModelConfig& config,
                         const std::shared_ptr<const Buffer>& memory);

// The same for gradients; a tied head is the embedding's view, and frozen tensors have an empty one.
ModelGradients ViewGradients(const ParameterLayout& layout, const ModelConfig& config, float* memory);

// Mamba2's own initialisation: A uniform in 1..16, step sizes log-uniform in 1e-3..1e-1 (not below 1e-4)
// through the inverse of softplus, D and norms 1, embedding N(0, 0.02), projections and convolution uniform
// in +-1/sqrt(fan-in), the output projection divided by sqrt(layers), projections' biases 0. The same seed
// gives the same values everywhere. What is better for recall: mimetic_init.h.
void InitializeParameters(const ParameterLayout& layout, const ModelConfig& config, uint64_t seed,
                          float* memory);

// The weights of a model of this configuration, widened. They hold A_log, so they are not those of a GGUF
// file.
void CopyParameters(const ParameterLayout& layout, const ModelConfig& config, const ModelWeights& weights,
                    float* memory);

}  // namespace ghost
