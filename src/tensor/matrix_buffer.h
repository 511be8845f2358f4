// Matrices in buffers that are used again and again.
#pragma once

#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// A (rows, cols) matrix at the start of `buffer`, which grows when it is too small; it never shrinks. Growing
// loses the contents. Views handed out before stay valid as long as the buffer need not grow.
inline View Grow(Buffer& buffer, int64_t rows, int64_t cols) {
  if (buffer.size() < rows * cols) buffer = Buffer(rows * cols);
  return View(buffer.data(), rows, cols);
}

}  // namespace ghost
