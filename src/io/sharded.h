// Checkpoints split into several files: an index JSON says which file holds which tensor. safetensors and
// PyTorch shards use the same code and differ only in how one file is read.
#pragma once

#include <functional>
#include <string>

#include "io/tensor_set.h"

namespace ghost {

// Reads the index and then every file its `weight_map` names, each once, from the index's own folder. Tensors
// that the map does not list are ignored. All missing shards are reported in one error (kNotFound), all
// tensors missing from their shards in another (kCorrupt). `metadata.total_size` is not checked, because
// writers disagree on whether it counts tied tensors.
TensorSet ReadSharded(const std::string& index_path,
                      const std::function<TensorSet(const std::string& path)>& read_file);

}  // namespace ghost
