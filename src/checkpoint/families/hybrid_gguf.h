// What the GGUF architectures of the hybrid families have in common.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/families/hybrid_model.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"

namespace ghost {

// Sizes of the model, mixer, attention with its biases but no positions, and whether the head is tied;
// nothing of the feed forward parts. The kinds of the layers come from head_count_kv: 0 is a mixer.
HybridModel ReadGgufHybrid(const GgufFile& file, const std::string& architecture);

// A number per layer under `key`: a list, or one number for all. No key: zeros.
std::vector<int64_t> GgufPerLayer(const GgufFile& file, const std::string& key, size_t layers);

// Whether the first layer of a kind has a tensor. For options that only the tensors tell, such as biases.
bool GgufLayerHas(const GgufFile& file, const HybridModel& model, LayerKind kind, const char* tensor);

// Positions of attention: base and rotated width.
void ReadGgufRope(const GgufFile& file, const std::string& architecture, AttentionDims& attention);

// A factor under an optional key; 0 says the same as no key, as in llama.cpp.
float GgufFactor(const GgufFile& file, const std::string& key, float fallback);

// The keys of what ReadGgufHybrid reads. With `kv_per_layer`, head_count_kv is a list with 0 for layers
// without attention.
GgufKeys MakeGgufHybridKeys(const ModelConfig& config, const std::string& architecture, bool kv_per_layer);

// Appends a u32 key below the architecture.
void AddGgufSize(const std::string& architecture, const char* key, int64_t value, GgufKeys& keys);

// What no architecture of llama.cpp's hybrids can run; empty: nothing.
std::string WhyNoGgufHybrid(const ModelConfig& config);

}  // namespace ghost
