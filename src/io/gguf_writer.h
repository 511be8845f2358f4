// Writes GGUF version 3 files that llama.cpp loads. Knows no model: the caller provides keys and tensors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/gguf.h"
#include "io/lazy_tensor.h"

namespace ghost {

using GgufKeys = std::vector<std::pair<std::string, GgufValue>>;
using GgufTensors = std::vector<std::pair<std::string, LazyTensor>>;

// Writes the whole file or nothing, with keys and tensors in the given order and alignment 32; the same input
// gives the same bytes. Tensors are created one at a time while they are written. Shapes are row-major, as
// everywhere else; the file stores them reversed. kUnsupported, naming the key or tensor, for data the format
// cannot hold: empty or repeated keys and names, names over 63 bytes, rank 0 or above 4, types other than
// those that gguf_layout.h lists, and a general.alignment other than 32.
void SaveGguf(const std::string& path, const GgufKeys& keys, const GgufTensors& tensors);

}  // namespace ghost
