// Figure 2: a Mamba2 block, where GHOST measures and what it removes.
#pragma once

#include <cstdint>
#include <string>

namespace ghost {

struct BlockSizes {
  int64_t d_model = 0;   // M
  int64_t heads = 0;     // H
  int64_t head_dim = 0;  // P
  int64_t groups = 0;    // G
  int64_t state = 0;     // N
};

std::string DrawMethod(const BlockSizes& sizes);

}  // namespace ghost
