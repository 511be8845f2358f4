// What the parsers of all families and layouts share: limits, complaints, and the check of sizes against each
// other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace ghost {

// Bounds far above every released model. They keep products of config numbers inside int and stop a hostile
// config from asking for absurd buffers; tensors are compared with the resulting shapes afterwards.
inline constexpr int64_t kMaxWidth = 1 << 18;
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxState = 4096;
inline constexpr int64_t kMaxVocab = 1 << 24;

// Error(kUnsupported): a configuration that makes sense, but not to us.
[[noreturn]] void ThrowUnsupportedConfig(const std::string& file, const std::string& key,
                                         const std::string& expected, const std::string& actual);
// Error(kCorrupt): one that cannot be.
[[noreturn]] void ThrowInconsistentConfig(const std::string& file, const std::string& key,
                                          const std::string& expected, const std::string& actual);

// Numbers that every layer of a released model shares.
struct UniformSizes {
  int64_t d_model, layers, heads, head_dim, groups, state_dim, conv_width, inner_size;
  std::string file, inner_key;
};

// Checked against each other.
std::vector<BlockDims> MakeBlocks(const UniformSizes& sizes);

// A key that must be there; 1 to `max`.
int64_t RequiredInt(const Json& json, const std::string& key, int64_t max, const std::string& file);

float CheckedEps(double eps, const std::string& key, const std::string& file);

// expand * d_model, from a factor that need not be whole.
int64_t CheckedInnerSize(double expand, int64_t d_model, const std::string& key, const std::string& file);

}  // namespace ghost
