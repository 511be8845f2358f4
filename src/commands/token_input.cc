#include "commands/token_input.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "io/safetensors.h"
#include "model/token_ids.h"

namespace ghost {
namespace {

int64_t IdAt(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kI32) {
    int32_t id;
    std::memcpy(&id, tensor.data() + index * 4, 4);
    return id;
  }
  int64_t id;
  std::memcpy(&id, tensor.data() + index * 8, 8);
  return id;
}

}  // namespace

TokenMatrix LoadTokenMatrix(const std::string& path, int vocab_size) {
  const TensorSet set = ReadSafetensors(path);
  const auto it = set.tensors.find("input_ids");
  if (it == set.tensors.end()) {
    throw Error(ErrorKind::kCorrupt, "file has no token ids", {.file = path, .tensor = "input_ids"});
  }
  const Tensor& tensor = it->second.tensor;
  const int rank = tensor.shape().rank();
  if ((tensor.dtype() != DType::kI64 && tensor.dtype() != DType::kI32) || rank < 1 || rank > 2) {
    throw Error(ErrorKind::kCorrupt, "token ids have the wrong type or shape",
                {.file = path,
                 .tensor = "input_ids",
                 .expected = "I64 (B, L)",
                 .actual = fmt::format("{} {}", NameOf(tensor.dtype()), tensor.shape().ToString())});
  }
  TokenMatrix matrix;
  matrix.rows = rank == 2 ? tensor.shape()[0] : 1;
  matrix.cols = tensor.shape()[rank - 1];
  if (matrix.rows == 0 || matrix.cols == 0) {
    throw Error(ErrorKind::kUsage, "there are no token ids",
                {.file = path, .tensor = "input_ids", .actual = tensor.shape().ToString()});
  }
  matrix.ids.resize(static_cast<size_t>(matrix.rows * matrix.cols));
  for (int64_t i = 0; i < matrix.rows * matrix.cols; ++i) {
    const int64_t id = IdAt(tensor, i);
    if (!IsTokenId(id, vocab_size)) {
      ThrowBadTokenId(
          id, vocab_size,
          {.file = path, .tensor = fmt::format("input_ids[{}][{}]", i / matrix.cols, i % matrix.cols)});
    }
    matrix.ids[static_cast<size_t>(i)] = static_cast<int32_t>(id);
  }
  return matrix;
}

}  // namespace ghost
