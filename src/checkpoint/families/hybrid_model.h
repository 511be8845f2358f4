// What the families that mix Mamba2 with attention and MLPs have in common: the numbers that describe such a
// model, from which every source (config.json, GGUF keys, the table of released models) makes it, and how
// config.json spells them. What differs between the families is in their own files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/config.h"

namespace ghost {

enum class LayerKind { kMamba, kAttention, kMlp, kExperts };

// One description serves all layers: in these families mixers agree with each other, and so do attentions,
// MLPs and experts. Names, `layer` and factors of the residual stream are set by the family.
struct HybridModel {
  int d_model = 0, vocab_size = 0;
  float eps = 1e-5f;  // of all norms
  bool tied_head = false;
  float embedding_factor = 1.0f, head_factor = 1.0f;
  float residual_factor = 1.0f;  // of what every step adds
  std::vector<LayerKind> kinds;  // one per layer
  MixerDims mixer;
  AttentionDims attention;  // only if a layer has it
  MlpDims mlp;              // width 0: none
  ExpertsDims experts;      // width 0: none

  bool has(LayerKind kind) const;
};

// --- making the configuration ---

// Everything but layers and names.
ModelConfig BeginModel(const HybridModel& model, std::string_view family, Layout layout);
// The mixer of the layer that is added next.
PartRef AddMixer(const HybridModel& model, ModelConfig& config);
StepSpec MakeStep(const HybridModel& model, std::vector<PartRef> parts);

// Where the parts of a layer have their tensors, below the layer's prefix.
struct PartFolders {
  std::string mixer, attention, mlp, experts;
};
void NameParts(const LayerSpec& layer, const PartNames& block, const PartFolders& folders,
               ModelConfig& config);

// The mixer of a released model: a convolution of width 4, no bias of the projections.
MixerDims ReleasedMixer(int d_model, int heads, int head_dim, int groups, int state_dim);

// --- reading config.json ---

// Refuses what changes the computation in ways no part of ours has: quantised weights, sliding windows,
// scaled rotary positions.
void RefuseHybridOptions(const Json& json, const std::string& file);
// Error(kUnsupported) unless the key, `expected` by default, says `expected`.
void RequireWord(const Json& json, const std::string& key, const std::string& expected,
                 const std::string& file);
float ReadFactor(const Json& json, const std::string& key, float fallback, const std::string& file);
// As many numbers as `factors` has under `key`; all 1 if there is no key.
void ReadFactors(const Json& json, const std::string& key, const std::string& file,
                 std::vector<float*> factors);
// A list with one word per layer, in the spelling of old or new files.
std::vector<LayerKind> ReadLayerKinds(const Json& list, const std::string& key, const std::string& file);

// The keys of the mixer that begin with mamba_ (Granite, Bamba, Falcon-H1). inner_size 0: expand times M.
MixerDims ReadMambaKeys(const Json& json, int64_t d_model, int64_t inner_size, const std::string& file);
// Heads and their width, with a scale of width^-1/2, no position embedding and no bias. The width is head_dim
// where a file has it, else `default_head_dim`; 0: M / heads. `default_kv_heads` 0: as many as heads.
AttentionDims ReadAttentionKeys(const Json& json, int64_t d_model, int64_t default_head_dim,
                                int64_t default_kv_heads, const std::string& file);
// Rotation of the first `rotated` channels of every head.
void SetRope(double theta, int rotated, const std::string& file, AttentionDims& attention);

// --- writing config.json ---

// "mamba" or "attention" per layer, in the spelling that every version of the library reads.
OrderedJson LayerWords(const ModelConfig& config);
void AddMambaKeys(const ModelConfig& config, OrderedJson& json);
void AddAttentionKeys(const ModelConfig& config, OrderedJson& json);
// Size of the model, norms, vocabulary, type, class.
OrderedJson BeginHybridJson(const ModelConfig& config, std::string_view eps_key);

// Whether a layer has a part of this kind.
bool LayerHas(const LayerSpec& layer, PartKind kind);

}  // namespace ghost
