// pytorch_model.bin: a stored (never compressed) zip of a pickle and raw storages. Only the subset that
// describes tensors is understood; no code is ever run, unknown opcodes and globals are errors.
#pragma once

#include <string>

#include "io/tensor_set.h"

namespace ghost {

TensorSet ReadPytorchBin(const std::string& path);

// `index_path` is a pytorch_model.bin.index.json, treated like a sharded safetensors checkpoint.
TensorSet ReadShardedPytorchBin(const std::string& index_path);

}  // namespace ghost
