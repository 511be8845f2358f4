// llama.cpp's architecture "granitehybrid", which runs Granite and other models of its form.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/families/hybrid_model.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"

namespace ghost {

std::string_view GranitehybridArchitecture(const ModelConfig& config);
// Positions as the file says them, in any part of the head.
HybridModel ReadGranitehybrid(const GgufFile& file);
GgufKeys MakeGraniteGgufKeys(const ModelConfig& config);
// What of a model the architecture cannot run; empty: nothing.
std::string WhyNoGranitehybrid(const ModelConfig& config);

}  // namespace ghost
