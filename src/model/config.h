// What a model is made of, in one form for all families and file layouts: layers of steps of parts, with the
// names of their tensors. Families (checkpoint/family.h) make it from configuration files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/parts/attention.h"
#include "model/parts/experts.h"
#include "model/parts/mixer.h"
#include "model/parts/mlp.h"
#include "model/parts/shared_block.h"
#include "model/tensor_row.h"

namespace ghost {

// Which checkpoint layout the names and the config follow.
enum class Layout { kHuggingFace, kStateSpaces, kMistral, kGguf };
std::string_view NameOf(Layout layout);

// A part by its kind and its place in ModelConfig's list of that kind. A new kind is a new enumerator, a new
// list and a new case of VisitPart; everything else finds it by overloads in the part's own file.
enum class PartKind { kMixer, kAttention, kMlp, kExperts };
struct PartRef {
  PartKind kind;
  int index;
};
std::string_view NameOf(PartKind kind);  // for people: "mamba2", "attention", "mlp", "experts"

inline constexpr int kNoSharedUse = -1;

// One step of a layer: hidden += sum over parts of part(rms_norm(input)), where input is hidden, or hidden
// and what a shared block adds to it. All parts of a step read the same normed input.
struct StepSpec {
  int shared_use = kNoSharedUse;  // in ModelConfig::shared_uses
  TensorNames norm;               // (M)
  float eps = 1e-5f;
  std::vector<PartRef> parts;
};

struct LayerSpec {
  std::vector<StepSpec> steps;
};

struct ModelConfig {
  std::string family;  // of checkpoint/family.h, by name
  Layout layout = Layout::kHuggingFace;
  int d_model = 0;         // M
  int vocab_size = 0;      // V: rows of embedding and head, padding included
  int token_count = 0;     // ids the tokenizer may produce: smaller than V where the file tells, else V
  float norm_eps = 1e-5f;  // of the final norm
  bool tied_head = true;
  float embedding_factor = 1.0f;  // of the embeddings before the first layer
  float head_factor = 1.0f;       // of the logits
  TensorNames embedding, final_norm, head;
  // What the names of all tensors of the model start with. Others in its files (those of another head, say)
  // are not ours to understand and are copied as they are. Empty: every tensor is the model's.
  std::vector<std::string> own_prefixes;
  std::vector<LayerSpec> layers;
  // The parts, each list in the order of the layers. Mixers are counted by their place here: states, masks,
  // scores and gradients go by this ordinal; MixerDims::layer says where a mixer is.
  std::vector<MixerDims> mixers;
  std::vector<AttentionDims> attentions;
  std::vector<MlpDims> mlps;
  std::vector<ExpertsDims> experts;
  std::vector<SharedUseDims> shared_uses;
  std::vector<SharedBlockDims> shared_blocks;

  int num_layers() const { return static_cast<int>(layers.size()); }
  int num_mixers() const { return static_cast<int>(mixers.size()); }
  int num_steps() const;
};

// Appends a part to its list in `config`. The result goes into a step.
PartRef AddPart(MixerDims dims, ModelConfig& config);
PartRef AddPart(AttentionDims dims, ModelConfig& config);
PartRef AddPart(MlpDims dims, ModelConfig& config);
PartRef AddPart(ExpertsDims dims, ModelConfig& config);

// visit(entry...) with the entries that `ref` names in each of `lists`: a ModelConfig, or an object with
// lists of the same names, such as ModelWeights.
template <class Visit, class... Lists>
auto VisitPart(PartRef ref, Visit&& visit, Lists&... lists) {
  const auto index = static_cast<size_t>(ref.index);
  switch (ref.kind) {
    case PartKind::kAttention:
      return visit(lists.attentions[index]...);
    case PartKind::kMlp:
      return visit(lists.mlps[index]...);
    case PartKind::kExperts:
      return visit(lists.experts[index]...);
    case PartKind::kMixer:
      break;
  }
  return visit(lists.mixers[index]...);
}

// What a layer is, for people: "hybrid" if a shared block adds to its input, else its parts, such as
// "mamba2", "attention" or "mamba2+mlp".
std::string KindOf(const ModelConfig& config, int layer);

// The widths of the key-value caches of a sequence: those of the shared uses, then those of the attentions.
std::vector<int> CacheWidths(const ModelConfig& config);
// Which of them belongs to attention `index`.
int CacheOfAttention(const ModelConfig& config, int index);

// The N that all groups of all mixers have, or -1 if they differ.
int UniformStateSize(const ModelConfig& config);
// The largest N of all groups of all mixers, at least 1.
int LargestStateSize(const ModelConfig& config);
// The N of all groups of all mixers, for people: "128", or "20 to 90" where they differ.
std::string StateSizes(const ModelConfig& config);
// Whether any mixer has more than one group.
bool HasGroups(const ModelConfig& config);

}  // namespace ghost
