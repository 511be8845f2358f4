// Token ids given as a safetensors file: tensor `input_ids`, I64 or I32, (B, L) or (L).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ghost {

struct TokenMatrix {
  int64_t rows = 0;  // B: each row is one sequence from an empty state
  int64_t cols = 0;  // L
  std::vector<int32_t> ids;

  const int32_t* Row(int64_t row) const { return ids.data() + row * cols; }
};

// Ids outside [0, vocab_size) are Error(kUsage) naming the place.
TokenMatrix LoadTokenMatrix(const std::string& path, int vocab_size);

}  // namespace ghost
