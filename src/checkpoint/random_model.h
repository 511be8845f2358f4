// Models with random weights: of released sizes (family.h) for measuring, of tiny ones for tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/lazy_tensor.h"
#include "model/config.h"
#include "model/model.h"

namespace ghost {

// Hugging Face names and shapes, values by Mamba2's own initialisation rules (A in 1..16, step sizes
// log-uniform in 1e-3..1e-1, projections of variance 1/fan-in). Matrices are stored as `dtype`, vectors as
// F32; quantised types as in a GGUF file (gguf_export.h). The same seed gives the same bytes for every number
// of threads.
std::map<std::string, Tensor> MakeRandomTensors(const ModelConfig& config, DType dtype, uint64_t seed);
// The same, each made when it is asked for: a model larger than memory can be written.
std::map<std::string, LazyTensor> MakeLazyRandomTensors(const ModelConfig& config, DType dtype,
                                                        uint64_t seed);

Model MakeRandomModel(const ModelConfig& config, DType dtype, uint64_t seed);

// The dt_bias whose softplus is the step size `value` > 0.
double InverseSoftplus(double value);

}  // namespace ghost
