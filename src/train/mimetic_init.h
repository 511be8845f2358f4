// Initial weights under which half of the heads already recall, so that a small model learns to use its state
// within the tokens a small budget affords (after Trockman et al., "Mimetic Initialization Helps State Space
// Models Learn to Recall").
#pragma once

#include "train/parameters.h"

namespace ghost {

// Changes what InitializeParameters has drawn. Of every layer, the heads 0, 2, 4, ...
//   remember: A = 0.03 and a step of 0.1, a memory of 300 tokens (Mamba2's own are 1 to 1000, mostly short);
//   find: C = B, where the convolution shows B the tokens before the current one and C the current one and
//         those before it, so that c_t . b_s is large where token s follows what the last tokens are;
//   say:  the output projection is the transpose of the one that read the token, and D = 0.
// The other heads keep their values; B, C and their convolution are shared by all heads of a group.
void MakeMimetic(const ParameterLayout& layout, const ModelConfig& config, float* memory);

}  // namespace ghost
