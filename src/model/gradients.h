// Where gradients go: views shaped like the weights, so that the one table of tensors (weights.h) walks them
// too.
#pragma once

#include <vector>

#include "tensor/view.h"

namespace ghost {

// Of one block; names and shapes as in BlockWeights, vectors as one row. An empty view is a gradient that is
// not wanted, or a tensor the model does not have.
struct BlockGradients {
  int first_row = 0;   // of in_proj that `in_proj` starts with: 0, or 2R for the rows of B and C alone
  View norm;           // (1, M)
  View in_proj;        // (rows, M)
  View in_proj_bias;   // (1, 2R+2GN+H)
  View conv;           // (R+2GN, W)
  View conv_bias;      // (1, R+2GN)
  View dt_bias;        // (1, H)
  View a_log;          // (1, H): with respect to A_log, also where a file stores A itself
  View d;              // (1, H)
  View gate_norm;      // (1, R)
  View out_proj;       // (M, R)
  View out_proj_bias;  // (1, M)
};

struct ModelGradients {
  View embedding;   // (V, M)
  View final_norm;  // (1, M)
  View head;        // (V, M); the embedding's own view when tied
  std::vector<BlockGradients> blocks;
};

}  // namespace ghost
