// The named tensors of a checkpoint, whatever kind of file they came from.
#pragma once

#include <map>
#include <string>

#include "tensor/tensor.h"

namespace ghost {

// A tensor and the file it lies in, for messages.
struct StoredTensor {
  Tensor tensor;
  std::string file;
};

// A value; cheap to copy per tensor since bytes are shared. Sorted by name, so that every walk has one order.
struct TensorSet {
  std::map<std::string, StoredTensor, std::less<>> tensors;
  std::map<std::string, std::string> metadata;  // safetensors' __metadata__; empty for other formats
};

}  // namespace ghost
