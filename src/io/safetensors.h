// safetensors: an 8-byte length, a JSON header, raw little-endian tensors. Layout and rules: docs/formats.md.
#pragma once

#include <map>
#include <string>

#include "io/lazy_tensor.h"
#include "io/tensor_set.h"

namespace ghost {

// Maps the file and checks the whole header before anything points into it: no duplicate names, known types,
// extents times size equal to the byte range, ranges that tile the data without gap or overlap. The tensors
// alias the mapping and keep it alive; no payload is read.
TensorSet ReadSafetensors(const std::string& path);

// `index_path` is a model.safetensors.index.json; its weight_map decides which shard a tensor is taken from.
// Shard names must be plain file names beside the index. Every missing shard and tensor is reported together.
TensorSet ReadShardedSafetensors(const std::string& index_path);

// Writes whole or not at all. Order in the file: decreasing element size, then name; header padded to 8
// bytes; the same input gives the same bytes. `metadata` usually holds {"format", "pt"}, which Hugging Face's
// loaders ask for. kUnsupported for what the format cannot hold: Q8_0, names that are not UTF-8. The tensors
// may alias the very file that is replaced.
void SaveSafetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                     const std::map<std::string, std::string>& metadata);

// The same for tensors that are made one after the other while they are written.
void StreamSafetensors(const std::string& path, const std::map<std::string, LazyTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace ghost
