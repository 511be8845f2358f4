// Matrices in reusable buffers.
#pragma once

#include <algorithm>

#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// A (rows, cols) matrix at the start of `buffer`, which grows if it is too small and never shrinks. Growing
// discards the contents. Earlier views stay valid until the buffer grows.
inline View Grow(Buffer& buffer, int64_t rows, int64_t cols) {
  if (buffer.size() < rows * cols) buffer = Buffer(rows * cols);
  return View(buffer.data(), rows, cols);
}

// Every element becomes 0.
inline void ZeroRows(View view) {
  for (int64_t row = 0; row < view.rows; ++row) std::fill_n(view.Row(row), view.cols, 0.0f);
}

}  // namespace ghost
