// Checkpoints cut into several files: an index JSON says which file holds which tensor. The same for
// safetensors and pytorch shards, which differ only in how one file is read.
#pragma once

#include <functional>
#include <string>

#include "io/tensor_set.h"

namespace ghost {

// Reads the index and then every file its `weight_map` names, each once, from the index's own folder. The map
// decides: tensors of a shard that it does not list are left out. Every missing shard is reported in one
// error (kNotFound), every listed tensor that its shard lacks in another (kCorrupt). `metadata.total_size` is
// not checked: writers disagree on whether it counts tied tensors.
TensorSet ReadSharded(const std::string& index_path,
                      const std::function<TensorSet(const std::string& path)>& read_file);

}  // namespace ghost
