// Reads pytorch_model.bin: a stored (uncompressed) zip of a pickle and raw storages. Only the subset that
// describes tensors is supported; no code is ever run, and unknown opcodes and globals are errors.
#pragma once

#include <string>

#include "io/tensor_set.h"

namespace ghost {

// Maps the file. Contiguous tensors alias the mapping, so tied weights share their bytes. Other views are
// copied, once per distinct view and never more bytes in total than the file has. kCorrupt for inconsistent
// contents; kUnsupported for files written before PyTorch 1.6, big-endian storages, compression, and pickles
// that hold more than a state dict (a dict of tensors, or one under the key "state_dict" or "model"). We
// never write this format.
TensorSet ReadPytorchBin(const std::string& path);

// `index_path` is a pytorch_model.bin.index.json, treated like a sharded safetensors checkpoint.
TensorSet ReadShardedPytorchBin(const std::string& index_path);

}  // namespace ghost
