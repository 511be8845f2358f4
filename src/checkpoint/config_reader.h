// What the parsers of all families and layouts share: limits, complaints, and the check of sizes against each
// other.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "model/config.h"

namespace ghost {

// Bounds far above every released model. They keep products of config numbers inside int and stop a hostile
// config from asking for absurd buffers; tensors are compared with the resulting shapes afterwards.
inline constexpr int64_t kMaxWidth = 1 << 18;
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxState = 4096;
inline constexpr int64_t kMaxVocab = 1 << 24;
inline constexpr int64_t kMaxExperts = 1 << 14;     // of a layer
inline constexpr int64_t kMaxAllExperts = 1 << 17;  // of all layers

// Error(kUnsupported): a configuration that makes sense, but not to us.
[[noreturn]] void ThrowUnsupportedConfig(const std::string& file, const std::string& key,
                                         const std::string& expected, const std::string& actual);
// Error(kCorrupt): one that cannot be.
[[noreturn]] void ThrowInconsistentConfig(const std::string& file, const std::string& key,
                                          const std::string& expected, const std::string& actual);

// The first of several spellings of a key that is there and not null; the first of all if none is.
std::string SpellingIn(const Json& json, std::initializer_list<const char*> spellings);

// The numbers of a mixer as a file says them.
struct MixerSizes {
  int64_t d_model, heads, head_dim, groups, state_dim, conv_width, inner_size;
  std::string file, inner_key;
};
// Checked against each other; everything else as by default.
MixerDims MakeMixerDims(const MixerSizes& sizes);

// The numbers of attention as a file says them.
struct AttentionSizes {
  int64_t d_model, heads, kv_heads, head_dim;
  std::string file;
};
// Checked against each other; scale head_dim^-1/2, everything else as by default.
AttentionDims MakeAttentionDims(const AttentionSizes& sizes);

// The base of the rotary angles: rope_parameters.rope_theta in newer files, else rope_theta, else `fallback`.
// Scaled positions are refused.
double ReadRopeTheta(const Json& json, double fallback, const std::string& file);
double CheckedRopeTheta(double theta, const std::string& key, const std::string& file);

// A key that must be there; 1 to `max`.
int64_t RequiredInt(const Json& json, const std::string& key, int64_t max, const std::string& file);

float CheckedEps(double eps, const std::string& key, const std::string& file);

// expand * d_model, from a factor that need not be whole.
int64_t CheckedInnerSize(double expand, int64_t d_model, const std::string& key, const std::string& file);

// The clamp of the step size, [low, high] under `key`; no key: none.
void ReadTimeStepLimit(const Json& json, const std::string& key, const std::string& file, MixerDims& dims);

// The keys <architecture>.ssm.* of a GGUF file, which all architectures with a Mamba2 mixer share.
MixerDims ReadGgufMixer(const GgufFile& file, const std::string& architecture);
GgufKeys MakeGgufMixerKeys(const MixerDims& dims, const std::string& architecture);

// A GGUF key that must be there; 1 to `max`.
uint32_t GgufSize(const GgufFile& file, const std::string& key, int64_t max);

// The vocabulary of a GGUF file is its token list; a file without one (weights only) has its embedding.
int GgufVocabulary(const GgufFile& file);

}  // namespace ghost
