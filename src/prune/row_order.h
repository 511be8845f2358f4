// Where the parts of a mixer lie: rows z | x | B | C | dt of the input projection, channels x | B | C of the
// convolution.
#pragma once

#include "model/config.h"

namespace ghost {

// First rows of the parts in in_proj (and its bias).
inline int z_row(const BlockDims&) { return 0; }
inline int x_row(const BlockDims& dims) { return dims.d_inner(); }
inline int b_row(const BlockDims& dims) { return 2 * dims.d_inner(); }
inline int c_row(const BlockDims& dims) { return b_row(dims) + dims.state_channels(); }
inline int dt_row(const BlockDims& dims) { return c_row(dims) + dims.state_channels(); }

// First channels of the parts in the convolution, and first columns in its output.
inline int conv_x(const BlockDims&) { return 0; }
inline int conv_b(const BlockDims& dims) { return dims.d_inner(); }
inline int conv_c(const BlockDims& dims) { return conv_b(dims) + dims.state_channels(); }

}  // namespace ghost
