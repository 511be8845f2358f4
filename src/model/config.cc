#include "model/config.h"

#include <algorithm>
#include <utility>

namespace ghost {

int ModelConfig::num_steps() const {
  size_t steps = 0;
  for (const LayerSpec& layer : layers) steps += layer.steps.size();
  return static_cast<int>(steps);
}

PartRef AddPart(MixerDims dims, ModelConfig& config) {
  config.mixers.push_back(std::move(dims));
  return {PartKind::kMixer, config.num_mixers() - 1};
}

PartRef AddPart(AttentionDims dims, ModelConfig& config) {
  config.attentions.push_back(std::move(dims));
  return {PartKind::kAttention, static_cast<int>(config.attentions.size()) - 1};
}

PartRef AddPart(MlpDims dims, ModelConfig& config) {
  config.mlps.push_back(std::move(dims));
  return {PartKind::kMlp, static_cast<int>(config.mlps.size()) - 1};
}

PartRef AddPart(ExpertsDims dims, ModelConfig& config) {
  config.experts.push_back(std::move(dims));
  return {PartKind::kExperts, static_cast<int>(config.experts.size()) - 1};
}

std::string_view NameOf(PartKind kind) {
  switch (kind) {
    case PartKind::kMixer:
      return "mamba2";
    case PartKind::kAttention:
      return "attention";
    case PartKind::kMlp:
      return "mlp";
    case PartKind::kExperts:
      return "experts";
  }
  return "?";
}

std::string KindOf(const ModelConfig& config, int layer) {
  std::string kind;
  for (const StepSpec& step : config.layers[static_cast<size_t>(layer)].steps) {
    if (step.shared_use != kNoSharedUse) return "hybrid";
    for (const PartRef ref : step.parts) kind += (kind.empty() ? "" : "+") + std::string(NameOf(ref.kind));
  }
  return kind;
}

std::vector<int> CacheWidths(const ModelConfig& config) {
  std::vector<int> widths;
  for (const SharedUseDims& use : config.shared_uses)
    widths.push_back(config.shared_blocks[static_cast<size_t>(use.block)].attention.kv_width());
  for (const AttentionDims& dims : config.attentions) widths.push_back(dims.kv_width());
  return widths;
}

int CacheOfAttention(const ModelConfig& config, int index) {
  return static_cast<int>(config.shared_uses.size()) + index;
}

int UniformStateSize(const ModelConfig& config) {
  int uniform = -1;
  for (const MixerDims& dims : config.mixers) {
    if (dims.state_maps) return -1;
    for (int g = 0; g < dims.num_groups(); ++g) {
      if (uniform == -1) uniform = dims.group_size(g);
      if (dims.group_size(g) != uniform) return -1;
    }
  }
  return uniform;
}

int LargestStateSize(const ModelConfig& config) {
  int size = 1;
  for (const MixerDims& dims : config.mixers) size = std::max(size, dims.max_group_size());
  return size;
}

std::string StateSizes(const ModelConfig& config) {
  int smallest = LargestStateSize(config), largest = 0;
  for (const MixerDims& dims : config.mixers) {
    for (int g = 0; g < dims.num_groups(); ++g) {
      smallest = std::min(smallest, dims.group_size(g));
      largest = std::max(largest, dims.group_size(g));
    }
  }
  const std::string text = std::to_string(smallest);
  return smallest == largest ? text : text + " to " + std::to_string(largest);
}

bool HasGroups(const ModelConfig& config) {
  return std::ranges::any_of(config.mixers, [](const MixerDims& d) { return d.num_groups() > 1; });
}

std::string_view NameOf(Layout layout) {
  switch (layout) {
    case Layout::kHuggingFace:
      return "huggingface";
    case Layout::kStateSpaces:
      return "state-spaces";
    case Layout::kMistral:
      return "mistral";
    case Layout::kGguf:
      return "gguf";
  }
  return "?";
}

}  // namespace ghost
