// Reads and writes safetensors: an 8-byte length, a JSON header, raw little-endian tensors.
// See docs/formats.md.
#pragma once

#include <map>
#include <string>

#include "io/lazy_tensor.h"
#include "io/tensor_set.h"

namespace ghost {

// Maps the file and checks the whole header before anything points into it: no duplicate names, known types,
// byte ranges that match shape and type and that cover the data without gap or overlap. The tensors alias the
// mapping and keep it alive; no tensor data are read.
TensorSet ReadSafetensors(const std::string& path);

// `index_path` is a model.safetensors.index.json, whose weight_map names the shard of each tensor.
// Shard names must be plain file names beside the index. All missing shards, and all missing tensors,
// are reported together.
TensorSet ReadShardedSafetensors(const std::string& index_path);

// Writes the whole file or nothing. Order in the file: decreasing element size, then name; the header is
// padded to 8 bytes; the same input gives the same bytes. `metadata` usually holds {"format", "pt"}, which
// Hugging Face's loaders require. kUnsupported for data the format cannot hold: quantised types, names that
// are not UTF-8. The tensors may alias the file that is replaced.
void SaveSafetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                     const std::map<std::string, std::string>& metadata);

// The same for tensors that are created one at a time while they are written.
void StreamSafetensors(const std::string& path, const std::map<std::string, LazyTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace ghost
