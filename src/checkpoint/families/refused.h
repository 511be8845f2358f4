// Architectures that people may try and that have no Mamba2 state to shrink.
#pragma once

#include <string_view>

namespace ghost {

// Why a model_type (or GGUF architecture) cannot be pruned by state channel, in a sentence; empty: we do not
// know the type.
std::string_view WhyRefused(std::string_view model_type);

}  // namespace ghost
