// The named tensors of a checkpoint, in any file format.
#pragma once

#include <map>
#include <string>

#include "tensor/tensor.h"

namespace ghost {

// A tensor and its file, for messages.
struct StoredTensor {
  Tensor tensor;
  std::string file;
};

// A value, cheap to copy because tensors share their bytes. Sorted by name, so that iteration has one order.
struct TensorSet {
  std::map<std::string, StoredTensor, std::less<>> tensors;
  std::map<std::string, std::string> metadata;  // safetensors' __metadata__; empty for other formats
};

}  // namespace ghost
