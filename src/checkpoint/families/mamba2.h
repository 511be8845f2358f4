// Mamba2 in its three layouts: Hugging Face's, the original state-spaces files, GGUF.
#pragma once

#include "model/config.h"

namespace ghost {

// A model of `layers` layers with one mixer each, with tied head and default numbers everywhere else.
ModelConfig MakeMamba2(const MixerDims& mixer, int layers, int vocab_size);

}  // namespace ghost
