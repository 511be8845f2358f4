// A model as the keys and tensors of a GGUF file, by walking the table of weights.h.
#pragma once

#include <optional>

#include "io/gguf_writer.h"
#include "model/model.h"

namespace ghost {

// Matrices become `matrix_type` (any weight type; Q8_0 where rows are not whole blocks of 256; nullopt: each
// as it is stored; bytes are kept when they have it already), all other tensors F32, as llama.cpp wants them.
// Converted while they are written. Error(kUnsupported) for what the format cannot say: unequal N, projection
// biases, a missing convolution bias, a clamped step size.
GgufTensors MakeGgufTensors(const ModelConfig& config, const ModelWeights& weights,
                            std::optional<DType> matrix_type);
GgufTensors MakeGgufTensors(const Model& model, DType matrix_type);

// general.file_type of a file whose matrices are mostly of this type.
uint32_t GgufFileType(DType matrix_type);

// The keys that describe the architecture. Tokenizer keys are the caller's.
GgufKeys MakeGgufKeys(const ModelConfig& config, DType matrix_type);

}  // namespace ghost
